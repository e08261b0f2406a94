"""Sources of pages other than MkDocs."""

from __future__ import annotations

import codecs

_BYTE_ORDER_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)


def decode_text(data: bytes, charset: str = "") -> str:
    """Decode text by its byte order mark, as UTF-8, by the server's charset, or by a guess, in that order.

    UTF-8 comes before the server's charset, because text in another encoding is rarely valid UTF-8.
    """
    for mark, name in _BYTE_ORDER_MARKS:
        if data.startswith(mark):
            return data[len(mark) :].decode(name, "replace")
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        if error.start >= len(data) - 3 and error.reason == "unexpected end of data":  # truncated within a character
            return data.decode("utf-8", "ignore")
    if charset:
        try:
            return data.decode(charset)
        except (LookupError, UnicodeDecodeError, ValueError):
            pass
    from bs4.dammit import UnicodeDammit  # slow to import, and rarely needed

    return UnicodeDammit(data, is_html=True).unicode_markup or data.decode("utf-8", "replace")
