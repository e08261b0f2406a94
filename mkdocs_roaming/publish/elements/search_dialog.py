"""The accessible name of Material's search dialog, which the theme leaves out.

Agents that read the accessibility tree, and screen readers, announce a dialog by its name.
"""

from __future__ import annotations

import re


def name_search_dialog(html: str) -> str:
    """Name the search dialog of Material as its input is named; a dialog that has a name already keeps it."""
    if 'data-md-component="search' not in html and "data-md-component=search" not in html:
        return html
    html = remove_search_dialog_name(html)
    dialog = _DIALOG.search(html)
    found = _INPUT.search(html, dialog.end()) if dialog else None
    label = _LABEL.search(found[0]) if found else None
    if dialog is None or label is None or _NAMED.search(dialog[0]):
        return html
    end = dialog.end() - 1
    return f"{html[:end]} aria-label={label[1]} {_MARK}{html[end:]}"


def remove_search_dialog_name(html: str) -> str:
    """Remove the name that an earlier build has added."""
    return _OWN_NAME.sub("", html) if _MARK in html else html


# No pattern scans beyond the start of the next element: pages may be hostile, and time is linear.
_MARK = "data-roaming-named"
_VALUE = r"""("[^"<>]*"|'[^'<>]*'|[^\s"'<>=]+)"""
_DIALOG = re.compile(
    r"""<div\b(?=[^<>]*\sdata-md-component=["']?search["'\s>])(?=[^<>]*\srole=["']?dialog["'\s>])[^<>]*>"""
)
_INPUT = re.compile(r"""<input\b(?=[^<>]*\sdata-md-component=["']?search-query["'\s>])[^<>]*>""")
_LABEL = re.compile(rf"\saria-label={_VALUE}")
_NAMED = re.compile(r"\s(?:aria-label|aria-labelledby|title)=")
_OWN_NAME = re.compile(rf" aria-label={_VALUE} {_MARK}")
