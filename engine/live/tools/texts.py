"""Texts for the model: not too long, and such that they can be sent. Pure."""

import codecs

__all__ = ["bounded", "decoded", "sendable", "whole_characters"]

_CONTINUES = range(0b1000_0000, 0b1100_0000)  # bytes that begin no character


def sendable(text: str) -> str:
    """Return a text that has a form in UTF-8: lone surrogates have none."""
    return text.encode("utf-8", "replace").decode("utf-8")


def bounded(text: str, most: int) -> str:
    """Return a text whose middle is left out if it is too long, which is then told.

    Args:
        text: of any length.
        most: characters that are kept of it.
    """
    if len(text) <= most:
        return text
    head, tail = most - most // 2, most // 2
    left_out = len(text) - most
    told = f"\n[{left_out:,} characters are left out here]\n"
    return text[:head] + told + text[len(text) - tail :]


def decoded(data: bytes) -> str:
    """Return bytes as a text; if they are none in UTF-8, that is told."""
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        told = "[not UTF-8: each byte that is no text is shown as \ufffd]\n"
        return told + data.decode("utf-8", "replace")


def whole_characters(head: bytes, tail: bytes) -> tuple[bytes, bytes]:
    """Drop the characters that a cut between two pieces has split."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    decoder.decode(head)
    waiting = len(decoder.getstate()[0])
    start = 0
    while start < min(3, len(tail)) and tail[start] in _CONTINUES:
        start += 1
    return head[: len(head) - waiting], tail[start:]
