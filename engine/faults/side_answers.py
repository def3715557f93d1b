"""The answers of the two other endpoints: counting tokens, and the list of models."""

from unspiral.engine.faults.acts import Answer, Body, End, Head
from unspiral.engine.faults.request import Request
from unspiral.engine.faults.wire import as_json, error_body

__all__ = ["MODELS", "count_answer", "models_answer"]

#: models that the list names; any other name is answered as well
MODELS = ("claude-opus-5-5", "claude-sonnet-5-5", "claude-haiku-5-5")
_BORN = "2026-10-01T00:00:00Z"


def count_answer(request: Request, request_id: str) -> Answer:
    """Return the number of input tokens, as the estimator counts them."""
    tokens = request.tokens
    return _json("count_tokens", 200, {"input_tokens": tokens}, request_id)


def models_answer(request: Request, request_id: str) -> Answer:
    """Return the list of models, or one of them."""
    wanted = request.path.removeprefix("/v1/models").strip("/")
    models = [
        {"type": "model", "id": name, "display_name": name, "created_at": _BORN}
        for name in MODELS
    ]
    if not wanted:
        body: object = {
            "data": models,
            "has_more": False,
            "first_id": MODELS[0],
            "last_id": MODELS[-1],
        }
        return _json("models", 200, body, request_id)
    found = [each for each in models if each["id"] == wanted]
    if found:
        return _json("models", 200, found[0], request_id)
    missing = error_body("not_found_error", f"model: {wanted[:100]}", request_id)
    return _json("models", 404, missing, request_id)


def _json(name: str, status: int, value: object, request_id: str) -> Answer:
    data = as_json(value)
    headers = (("content-type", "application/json"), ("request-id", request_id))
    return Answer(name, (Head(status, headers, len(data)), Body(data), End()))
