"""Addresses in a model's text: links and images that lead away from the site are removed before the text is released.

A model may be wrong or follow instructions from a page. An image alone would report its readers to another server, so
only addresses of the site and of opened sections stay. Text of removed links stays; code is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache, lru_cache
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from mkdocs_roaming.text.blocks import sub_outside_code

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

IsKnown = Callable[[str], bool]

# What renderers of any dialect might turn into a link; what CommonMark finds is compared at the end.
_TARGET = (
    r"\(\s*(?:<(?P<{0}_1>[^<>\n]*)>|(?P<{0}_2>(?:\\.|[^\s()\\]|\((?:\\.|[^\s()\\])*\))*))"
    r"(?:\s[^()]*|\s[^\n]{{0,200}}?)?\)"
)
_TEXT = r"(?:\\.|[^\[\]\\]|\[(?:\\.|[^\[\]\\])*\](?:\([^()\s]*\))?)*"
_BARE = r"(?:[a-z][a-z0-9+.-]{1,31}:/{0,2}(?=[^\s/\[\]])|//(?=[\w-]+\.)|www\.)[^\s<>`\"|\[\]]+"
_LINKS = re.compile(
    rf"(?P<image>!\[{_TEXT}\](?:{_TARGET.format('image')}|\[[^\[\]\n]*\]))"
    rf"|\[(?P<link>{_TEXT})\]{_TARGET.format('link')}"
    r"|(?P<definition>^[ >]*\[(?!\^)[^\[\]\n]+\]:\s*(?:<(?P<defined_1>[^<>\n]*)>|(?P<defined_2>\S+))"
    r"(?:[ \t]*\n?[ \t]*(?:\"[^\"\n]*\"|'[^'\n]*'|\([^()\n]*\)))?[ \t]*\n?)"
    r"|<(?P<auto>[a-z][a-z0-9+.-]{1,31}:[^\s<>]*|[^\s<>@/]+@[^\s<>]+)>"
    r"|(?P<html><(?P<raw>script|style|iframe|object|svg|template)\b[\s\S]*?(?:</(?P=raw)\s*>|\Z)|<!--[\s\S]*?(?:-->|\Z)"
    r"|<(?:[!?][a-z][^>]*|/?[a-z][a-z0-9-]*(?:[\s/][^>]*)?)(?:>|\Z))"
    rf"|(?P<bare>(?<![\w/]){_BARE})",
    re.MULTILINE | re.IGNORECASE,
)
_MAIL = r"(?<![^\s<>@/()\[\]])[^\s<>@/()\[\]]+@[\w.-]+"  # from the start of a word only: time is linear
# `https://a.example/b`, `//a.example`, `www.a.example`, `me@a.example`
_ANY_ADDRESS = re.compile(rf"{_BARE}|{_MAIL}", re.IGNORECASE)
# `<b>`, `</td>`: without attributes, and not one of those that fetch something
_HARMLESS_TAG = re.compile(
    r"</?(?!(?:base|embed|form|frame|img|link|meta|input|audio|video)\b)[a-z][a-z0-9-]*\s*/?>", re.IGNORECASE
)
# `](`, `![`, `<a`, `://`: a text without any has no link
_SIGN_OF_LINK = re.compile(
    r"\]\s*[(\[:]|!\[|<[!?/a-z]|:/|//|www\.|(?:javascript|data|vbscript|mailto):|&[#a-z]", re.IGNORECASE
)
# `](07f3277d)`, `](https://a.example/long…)`
_LINK_TO_ID = re.compile(r"\]\(#?(?P<id>[0-9a-f]{8}|https?://[^()\s…]{1,200}…)(?:[ \t]+\"[^\"\n]*\")?\)")
# `https://a.example/b` as far as prose and code leave no doubt about its end
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,31}://[^\s<>`\"'|)\]}\\;,]+", re.IGNORECASE)
# `a.example:80/b`, and in a group `a.example:80`
_NAME = re.compile(r"(?<![\w@/.:-])((?:[\w-]+\.)+\w[\w-]*(?::\d+)?)(?:/[^\s<>`\"'|)\]}\\;,]*)?")
_LINKED = re.compile(r"\]\(\s*<?([^\s()<>]+)")
"""The address of a link, relative ones too: `](../install.md`."""

# An address and a tag in what CommonMark takes for text and HTML
_LINKED_BARE = re.compile(rf"(?<![\w/]){_BARE}", re.IGNORECASE)
_TAG = re.compile(r"<[!?/]?[a-z][^>]*>?", re.IGNORECASE)
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+")
"""What browsers leave out of an address."""

_ESCAPE = re.compile(r"\\(?=[!-/:-@\[-`{-~])")
"""The backslash of an escape in Markdown: `\\_`."""

_LONG_REFERENCE = re.compile(r"&#0*(\d{1,7})\d*")
"""`&#0000000058;`: `unescape` fails for numbers of more than 4,300 digits."""

_MARKUP = re.compile(r"(\[\^[0-9a-f]{8}\])|[\[\]<>]")
"""A citation, which stays, or the brackets of a link or tag."""

_TRAILING = ".,;:!?*_~'\""
_SCHEMES = ("https://", "http://", "//", "mailto:")
_LINKED_PREFIXES = ("www.", "javascript:", "data:", "vbscript:", "mailto:")
_MAX_PASSES = 8
_CACHED_TEXTS = 64


def remove_links(markdown: str, is_known: IsKnown) -> tuple[str, int]:
    """Remove links, images, definitions and raw HTML whose addresses are not known.

    Args:
        markdown: One or more paragraphs of Markdown.
        is_known: Returns whether the text may lead to an address.

    Returns:
        The Markdown, and the number of removed addresses.
    """
    if not _SIGN_OF_LINK.search(markdown):
        return markdown, 0
    removed = 0

    def replace(match: re.Match[str]) -> str:
        nonlocal removed
        kept = _replace_link(match, is_known)
        removed += kept != match[0]
        if kept == match[0] and match["link"]:  # a link may contain an image
            return f"[{sub_outside_code(_LINKS, replace, match['link'])}{kept[1 + len(match['link']) :]}"
        return kept

    text = markdown
    for _ in range(_MAX_PASSES):  # what remains may form another link
        before = text
        text = sub_outside_code(_LINKS, replace, text)
        if text == before:
            break
    if text != before or not all(map(is_known, _rendered_addresses(text))):
        # The regular expressions and CommonMark disagree about what is code or a link: no markup at all is left.
        removed += 1
        text = _ADDRESS.sub("", _MARKUP.sub(lambda mark: mark[1] or f"\\{mark[0]}", text))
    return (text, removed) if removed else (markdown, 0)


def resolve_ids(markdown: str, find_url: Callable[[str], str | None]) -> str:
    """Replace ids of sections, and shortened addresses, as addresses of links by their URLs; code is unchanged."""
    if not _LINK_TO_ID.search(markdown):
        return markdown

    def replace(match: re.Match[str]) -> str:
        url = find_url(match["id"])
        return f"]({url})" if url else match[0]

    return sub_outside_code(_LINK_TO_ID, replace, markdown)


@lru_cache(_CACHED_TEXTS)
def find_addresses(text: str) -> frozenset[str]:
    """Return all addresses of a text, normalized, to compare others with them."""
    addresses = [match[0] for match in _ANY_ADDRESS.finditer(text)]
    addresses += _LINKED.findall(text)
    for name in _NAME.finditer(text):
        addresses += name.group(0, 1)
    return frozenset(map(normalize_address, addresses))


def normalize_address(address: str) -> str:
    """Return an address in the form in which addresses are compared: without escapes, fragment and `{placeholders}`."""
    address = _INVISIBLE.sub("", unquote(_unescape(_ESCAPE.sub("", address))))
    address = address.partition("#")[0].partition("{")[0]
    unopened = address.count(")") - address.count("(")
    end = len(address)
    while end and (address[end - 1] in _TRAILING or (address[end - 1] == ")" and unopened > 0)):
        end -= 1
        unopened -= address[end] == ")"
    address = address[:end].replace("\\", "/")
    prefix = next(filter(address.lower().startswith, _SCHEMES), "")
    host, slash, path = address[len(prefix) :].rstrip("/").partition("/")
    return f"{host.lower()}{slash}{path}"


def _unescape(text: str) -> str:
    """Return text with its character references replaced."""
    return unescape(_LONG_REFERENCE.sub(r"&#\1", text))


def is_on_site(address: str, site_url: str) -> bool:
    """Return whether an address is on a site, below its URL; relative addresses are if they lead there."""
    address = _INVISIBLE.sub("", _unescape(address)).replace("\\", "/")
    if address.startswith("#"):
        return True
    lower = address.lower()
    if lower.startswith(("mailto:", "www.")):
        return False
    if lower.startswith(("http:", "https:")) and not lower.startswith(_SCHEMES):
        return False  # browsers read it as if it had slashes
    try:
        site = urlsplit(site_url)
        target = urlsplit(urljoin(site_url, address))
    except ValueError:
        return False
    if not site.netloc:
        return not (target.scheme or address.startswith("//"))
    if "@" in target.netloc or target.scheme not in ("http", "https") or "/.." in unquote(target.path):
        return False
    return target.netloc.lower() == site.netloc.lower() and f"{target.path}/".startswith(f"{site.path.rstrip('/')}/")


def _replace_link(match: re.Match[str], is_known: IsKnown) -> str:
    """Return what stays of a link, an image, a definition, an autolink, a tag or a bare address."""
    if match["html"] is not None:
        return match[0] if _HARMLESS_TAG.fullmatch(match["html"]) else ""
    if match["bare"] is not None:
        address = match["bare"].rstrip(_TRAILING)
        return match[0] if is_known(address) or not _is_linked(address) else match["bare"][len(address) :]
    address = match["auto"]
    if address is None:
        targets = match.group("image_1", "image_2", "link_1", "link_2", "defined_1", "defined_2")
        address = next(filter(None, targets), "")
    elif ":" not in address:
        address = f"mailto:{address}"
    if match["image"] is not None and not address:
        return ""
    return match[0] if is_known(address) else match["link"] or ""


def _is_linked(address: str) -> bool:
    """Return whether renderers turn a bare address into a link, or a reader would."""
    return "//" in address or address.lower().startswith(_LINKED_PREFIXES)


# What a renderer makes of the text


@cache
def load_parser() -> MarkdownIt:
    """Return the parser for links, which takes 0.1 s to import; a server does so before the first answer."""
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # other renderers accept any
    return parser


def _rendered_addresses(markdown: str) -> Iterator[str]:
    """Yield the addresses of links and images as CommonMark finds them; raw HTML with attributes is one, too."""
    environment: dict[str, dict[str, dict[str, str]]] = {}
    tokens = load_parser().parse(markdown, environment)
    yield from _token_addresses(tokens)
    for definition in environment.get("references", {}).values():
        yield definition["href"]


def _token_addresses(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        yield from (str(token.attrs[name]) for name in ("href", "src") if name in token.attrs)
        if token.type in ("html_inline", "html_block"):
            yield from (tag for tag in _TAG.findall(token.content) if not _HARMLESS_TAG.fullmatch(tag))
        elif token.type == "text":
            yield from filter(_is_linked, _LINKED_BARE.findall(token.content))
        yield from _token_addresses(token.children or [])
