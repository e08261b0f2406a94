"""Sources of pages other than MkDocs."""

from __future__ import annotations

from pathlib import Path

_IGNORED_FOLDERS = (".", "_static", "_sources", "_modules")


def decode_text(data: bytes, charset: str = "") -> str:
    """Decode text as UTF-8, by its byte order mark, by a declared charset, or as windows-1252, in that order.

    UTF-8 comes before the server's charset, because text in another encoding is rarely valid UTF-8. The last one is the
    default of browsers for most languages.
    """
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if error.reason == "unexpected end of data":  # truncated within a character
            return data.decode("utf-8-sig", "ignore")
    from bs4.dammit import EncodingDetector, UnicodeDammit  # slow to import, and rarely needed

    declared = charset or EncodingDetector.find_declared_encoding(data, is_html=True) or "utf-8"
    text = UnicodeDammit(data, user_encodings=[declared, "windows-1252"], is_html=True).unicode_markup
    return text or data.decode("utf-8", "replace")


def is_ignored(file: Path) -> bool:
    """Return whether a file below the site is not a page, such as one of a hidden folder."""
    return any(part.startswith(_IGNORED_FOLDERS) for part in file.parts)
