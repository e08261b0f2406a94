"""How a reader of one page finds all the others: the `<link>` pair, and one sentence in page and Markdown."""

from __future__ import annotations

import re
from html import escape
from posixpath import relpath
from urllib.parse import quote

from mkdocs_roaming.headings import one_line
from mkdocs_roaming.page import Site, markdown_path

LLMS_TXT = "llms.txt"


def pointer(site: Site) -> str:
    """Give the first line of every Markdown file: a quote that points to llms.txt."""
    address = f"{site.url}{LLMS_TXT}"
    return (
        f"> This page belongs to the documentation of {_plain(one_line(site.name))}. "
        f"All its pages, as Markdown, are listed in [{LLMS_TXT}]({address}).\n"
    )


def decorate(html: str, path: str) -> str:
    """Give a page's HTML with the `<link>` pair in its head and the pointer at the top of its body.

    Doing it twice changes nothing: what was put in before is taken out first. A page without a head or a body gets
    what it has a place for.
    """
    html = _OURS.sub("", html)
    markdown, llms = _relative(path, markdown_path(path)), _relative(path, LLMS_TXT)
    # Material asks for a sitemap beside whatever `[rel=alternate]` leads to, so every page would cost a 404 (zensical/
    # zensical#908). The space takes the link out of that selector, and means nothing to whoever reads `rel` as tokens.
    rel = "alternate " if _MATERIAL in html else "alternate"
    head = (
        f'<link rel="{rel}" type="text/markdown" href="{markdown}" data-roaming>'
        f'<link rel="describedby" type="text/markdown" href="{llms}" data-roaming>'
    )
    if end := _HEAD_END.search(html):
        html = html[: end.start()] + head + html[end.start() :]
    if body := _SWAPPED.search(html) or _BODY.search(html, end.end() if end else 0):
        # Scorers of agents' readiness look for an address that ends in `/llms.txt`, on the home page too.
        sentence = _sentence(markdown, llms if "/" in llms else f"./{llms}")
        html = html[: body.end()] + sentence + html[body.end() :]
    return html


# Hidden from sight, kept for whoever reads the text: not display:none, which extractors drop. Screen readers and the
# tab key pass it by: it says nothing that a person needs. Pagefind and Material's search leave it out.
_HIDDEN = (
    "position:absolute;top:0;left:0;width:1px;height:1px;margin:0;overflow:hidden;clip-path:inset(50%);"
    "white-space:nowrap"
)


def _sentence(markdown: str, llms: str) -> str:
    return (
        f'<p data-roaming data-pagefind-ignore aria-hidden="true" style="{_HIDDEN}">'
        "For agents and language models, every page of this documentation is also there as Markdown, "
        f'this one at <a href="{markdown}" tabindex="-1">{markdown.rpartition("/")[2]}</a>, and all of them are listed '
        f'in <a href="{llms}" tabindex="-1">llms.txt</a>.</p>'
    )


_OURS = re.compile(r"<link\b[^<>]*\bdata-roaming>|<p data-roaming\b.*?</p>", re.DOTALL)
_HEAD_END = re.compile(r"</head\s*>", re.IGNORECASE)
_BODY = re.compile(r"<body\b[^>]*>", re.IGNORECASE)
_MATERIAL = "data-md-component"
_SWAPPED = re.compile(r"""<div\b[^>]*\bdata-md-component=["']?container\b[^>]*>""")
"""What Material and Zensical exchange when they navigate without loading: outside of it a pointer goes stale."""


def _relative(path: str, target: str) -> str:
    folder = path.rpartition("/")[0]
    return escape(quote(relpath("/" + target, "/" + folder), safe="/-._~!$&'()*+,;=@"), quote=True)


def _plain(text: str) -> str:
    return re.sub(r"([\\`*_\[\]<>])", r"\\\1", text)
