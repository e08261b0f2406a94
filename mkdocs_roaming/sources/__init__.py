"""Sources of pages other than MkDocs."""

from __future__ import annotations

from pathlib import Path

_IGNORED_FOLDERS = (".", "_static", "_sources", "_modules")


def decode_text(data: bytes, charset: str = "") -> str:
    """Decode text as UTF-8, by its byte order mark, by the server's charset, or by a guess, in that order.

    UTF-8 comes before the server's charset, because text in another encoding is rarely valid UTF-8.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 3 and error.reason == "unexpected end of data":  # truncated within a character
            return data.decode("utf-8-sig", "ignore")
    from bs4.dammit import UnicodeDammit  # slow to import, and rarely needed

    encodings = [charset] if charset else []
    return UnicodeDammit(data, user_encodings=encodings, is_html=True).unicode_markup or data.decode("utf-8", "replace")


def is_ignored(file: Path) -> bool:
    """Return whether a file below the site is not a page, such as one of a hidden folder."""
    return any(part.startswith(_IGNORED_FOLDERS) for part in file.parts)
