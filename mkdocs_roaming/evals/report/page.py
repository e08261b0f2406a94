"""The page of a report: one file, no request, no script, an exact policy of what may run."""

from __future__ import annotations

import base64
import hashlib
import re
from functools import cache
from html import escape
from importlib import resources
from urllib.parse import urlsplit


def page(title: str, body: str) -> str:
    """Give the page; `body` is HTML."""
    style = _style()
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; base-uri 'none'; form-action 'none'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        '<meta name="referrer" content="no-referrer">\n<meta name="robots" content="noindex">\n'
        f"<title>{safe(title)}</title>\n<style>{style}</style>\n</head>\n<body>\n<main>\n{body}</main>\n</body>\n</html>\n"
    )


def safe(text: str) -> str:
    """Give text as HTML; what cannot stand there is replaced."""
    return escape(_UNPRINTABLE.sub("\ufffd", text))


def link(url: str, text: str) -> str:
    """Give a link, or the text alone where the address is none that a page may lead to."""
    try:
        good = urlsplit(url).scheme in ("http", "https", "file")
    except ValueError:
        good = False
    return f'<a href="{safe(url)}">{safe(text)}</a>' if good else safe(text)


def table(head: list[str], rows: list[list[str]]) -> str:
    """Give a table; its cells are HTML, the first of a row names it."""
    top = "".join(f'<th scope="col">{cell}</th>' for cell in head)
    body = "".join(
        f'<tr><th scope="row">{first}</th>' + "".join(f'<td class="n">{cell}</td>' for cell in rest) + "</tr>\n"
        for first, *rest in rows
    )
    frame = '<div class="wide" tabindex="0" role="region" aria-label="Figures">'
    return f"{frame}<table>\n<thead><tr>{top}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n"


def only_switch(text: str) -> str:
    """Give the switch that hides what is fine; it works without a script."""
    return f'<p><label><input type="checkbox" id="only"> {safe(text)}</label></p>\n'


@cache
def _style() -> str:
    return (resources.files(__package__) / "report.css").read_text("utf-8")


_UNPRINTABLE = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010fffd]")
