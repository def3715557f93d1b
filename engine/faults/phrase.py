"""The words behind a status, which the server and the transport both send."""

import http

__all__ = ["phrase"]

_OVERLOADED = 529  # the API's own


def phrase(status: int) -> str:
    """Return the reason phrase of a status."""
    try:
        return http.HTTPStatus(status).phrase
    except ValueError:
        return "Overloaded" if status == _OVERLOADED else "Unknown"
