"""Sources of pages other than MkDocs."""

from __future__ import annotations

import codecs
from pathlib import Path

_IGNORED_FOLDERS = (".", "_static", "_sources", "_modules")
_NULL = "\0"
_ESCAPE = "\x1b"
_REPLACEMENT = "\ufffd"
_UNDECLARABLE = frozenset({"utf-16le", "utf-16be", "x-user-defined"})
"""Encodings that browsers do not believe a page: it is not UTF-16 if its tags can be read as ASCII."""
_SUPERSETS = {"gbk": "gb18030", "euc-jp": "euc_jis_2004"}
"""Codecs of Python that have the characters which browsers read in an encoding of that name."""


def decode_text(data: bytes, charset: str = "") -> str:
    """Decode text as browsers do; but valid UTF-8 is UTF-8, whatever is declared.

    The encoding is that of the byte order mark, of the server, of the page, or windows-1252.

    Args:
        data: The bytes.
        charset: The server's charset, a label of the Encoding Standard. Unknown labels are ignored.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return data.decode("utf-16", "replace")
    text = data.decode("utf-8-sig", "replace")
    damaged = text.count(_REPLACEMENT)
    is_plain = not damaged and _NULL not in text and _ESCAPE not in text  # else it may be UTF-16, or ISO-2022-JP
    if is_plain or data.startswith(codecs.BOM_UTF8):
        return text
    import webencodings  # rarely needed

    from mkdocs_roaming.text.meta_tags import find_charset

    encoding = webencodings.lookup(charset)
    if encoding is None:
        encoding = webencodings.lookup(find_charset(data.decode("latin-1")))
        if encoding and encoding.name in _UNDECLARABLE:
            encoding = None
    if encoding is None or encoding.name == "utf-8":
        non_ascii = len(text) - len(text.encode("ascii", "ignore"))
        if 2 * damaged <= non_ascii:
            return text
        encoding = webencodings.lookup("windows-1252")
    superset = _SUPERSETS.get(encoding.name)
    codec = codecs.lookup(superset) if superset else encoding.codec_info
    return str(codec.decode(data, "replace")[0])


def is_ignored(file: Path) -> bool:
    """Return whether a file below the site is not a page, such as one of a hidden folder."""
    return any(part.startswith(_IGNORED_FOLDERS) for part in file.parts)
