"""Addresses in a model's text: links and images that lead away from the site are removed before the text is released.

A model may be wrong or follow instructions from a page. An image alone would report its readers to another server, so
only addresses of the site and of opened sections stay. Text of removed links stays; code is never changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import cache
from html import unescape
from typing import TYPE_CHECKING
from urllib.parse import unquote, urljoin, urlsplit

from mkdocs_roaming.text.markdown import find_code, sub_outside_code

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

IsKnown = Callable[[str], bool]

_TARGET = r"\(\s*(?:<(?P<{0}_1>[^<>\n]*)>|(?P<{0}_2>(?:\\.|[^\s()\\]|\((?:\\.|[^\s()\\])*\))*))(?:\s[^()]*|\s[^\n]{{0,200}}?)?\)"
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
_ANY_ADDRESS = re.compile(rf"{_BARE}|{_MAIL}", re.IGNORECASE)
_HARMLESS_TAG = re.compile(
    r"</?(?!(?:base|embed|form|frame|img|link|meta|input|audio|video)\b)[a-z][a-z0-9-]*\s*/?>", re.IGNORECASE
)
_SIGN_OF_LINK = re.compile(
    r"\]\s*[(\[:]|!\[|<[!?/a-z]|:/|//|www\.|(?:javascript|data|vbscript|mailto):|&[#a-z]", re.IGNORECASE
)
_LINK_TO_ID = re.compile(r"\]\((?P<id>[0-9a-f]{8})\)")
_ADDRESS = re.compile(r"[a-z][a-z0-9+.-]{1,31}://[^\s<>`\"'|)\]}\\;,]+", re.IGNORECASE)
_DOWNLOAD = re.compile(r"\b(?:curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|fetch)\b[^\n]*", re.IGNORECASE)
_PATH = r"[^\s<>`\"'|)\]}\\;,]*"
_IP = r"\d{1,3}(?:\.\d{1,3}){3}(?!\d)"
_DOMAIN = r"(?:[\w-]+\.)+(?:[^\W\d_]{2,}|xn--[\w-]+)"
_HOST = re.compile(rf"(?<![\w@/.:-])(?:{_DOMAIN}|{_IP})(?::\d+)?/{_PATH}", re.IGNORECASE)
_NAME = re.compile(rf"(?<![\w@/.:-])(?:{_DOMAIN}|{_IP})(?::\d+)?", re.IGNORECASE)
_IP_ADDRESS = re.compile(
    rf"(?:version\w{{0,20}}|[=<>~!^]=)\W{{0,5}}{_IP}"  # a version
    r"|(?:(?:host|addr|server|(?<![a-z])ip)(?!\w{0,20}version)\w{0,20}[\"']?\s?[:=(]\s?[\"']?"
    rf"|(?<![\w.:/@-])(?={_IP}[:/]\d?)|(?<=[\"'])(?={_IP}[\"']))(?P<address>{_IP}(?!/\d\d?\b)(?::\d+)?(?:/{_PATH})?)",
    re.IGNORECASE,
)
"""An IP address with a port, a path or a name, or in quotation marks; others are as likely versions."""
_COMMAND = re.compile(
    r"(?<![\w./-])(?:(?P<name>(?P<download>curl|wget|iwr|irm|invoke-webrequest|invoke-restmethod|aria2c|lynx)"
    r"|(?P<copy>scp|rsync|git (?:clone|pull|push|fetch|remote (?:add|set-url)|submodule add))"
    r"|ssh|sftp|ftp|telnet|nc|ncat|netcat|ping6?|dig|nslookup)(?:\.exe)?[ \t]+"
    r"|--(?:(?:extra-|default-)?index(?:-url)?|find-links|registry|trusted-host|proxy)[ \t=]+"
    r"|-connect[ \t]+|/dev/(?:tcp|udp)/)(?![=:])",
    re.IGNORECASE,
)
"""A command or an option, and what follows: URLs, the source and target of a copy, or first of all a host."""
_VALUE_OPTION = re.compile(
    r"--(?:output(?:-document|-dir)?|header|data\S*|json|upload-file|user|config|user-agent|referer|cookie\S*|cacert|cert"
    r"|key|request|form|write-out|input-file)|-(?:OutFile|Headers|Body|Method)"
)
_VALUE_LETTERS = {"curl": "oHdTuKAebcXFwmDE", "wget": "OoPUeiAT", "": "BbcDEeFIiJLlmOoPpQqRSsUWwXx"}
"""Short options with a value, which may be the name of a file; those of `ssh` and its like are the default."""
_MAX_COMMENT_CHARS = 200
_COMMENT = re.compile(r"\s*//|\s*#\s+\S|[^\"'#]*\S\s+#")  # prose, before a command; `# curl` is a prompt
_ARGUMENT = re.compile(
    r"(?P<end>(?<!\\)\n|[|;&])|[<>]\s*[^\s\"'`()<>|;&]*|\"[^\"\n]*\"|'[^'\n]*'|(?:(?!\\\n)[^\s\"'`()<>|;&])+"
)
_HOST_ARGUMENT = re.compile(
    rf"(?:[^\s@/]+@)?(?:{_DOMAIN}|{_IP}|\[[0-9a-f:]+\]|(?=\S*::)[0-9a-f:]+)(?::[^\s:/]*)?(?:[:/?#]\S*)?",
    re.IGNORECASE,
)
_LOCAL_HOST = re.compile(r"(?:localhost|127(?:\.\d+){3}|\[?::1\]?|0\.0\.0\.0)(?::\d*)?$", re.IGNORECASE)
_PLACEHOLDER_HOST = re.compile(r"(?:\$?\{\w+|\$\w+|[A-Z_]{3,})\}?(?::\S*)?$")
_NO_SLASHES = re.compile(r"https?:(?!//)", re.IGNORECASE)  # browsers read it as if the slashes were there
_MAX_PASSES = 8
_SCHEME = re.compile(r"[a-z][a-z0-9+.-]*:", re.IGNORECASE)
_INVISIBLE = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufeff]+")
_TRAILING = ".,;:!?*_~'\""
_MARKUP = re.compile(r"(\[\^[0-9a-f]{8}\])|[\[\]<>]")


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

    before, text, passes = "", markdown, 0
    while text != before and passes < _MAX_PASSES:  # what remains may form another link
        before, text, passes = text, sub_outside_code(_LINKS, replace, text), passes + 1
    if text != before or any(not is_known(address) for address in _rendered_addresses(text)):
        # The regular expressions and CommonMark disagree about what is code or a link: no markup at all is left.
        removed += 1
        text = _ADDRESS.sub("", _MARKUP.sub(lambda mark: mark[1] or f"\\{mark[0]}", text))
    return (text, removed) if removed else (markdown, 0)


def resolve_ids(markdown: str, find_url: Callable[[str], str | None]) -> str:
    """Replace ids of sections as addresses of links by their URLs; code is unchanged."""
    if not _LINK_TO_ID.search(markdown):
        return markdown

    def replace(match: re.Match[str]) -> str:
        url = find_url(match["id"])
        return f"]({url})" if url else match[0]

    return sub_outside_code(_LINK_TO_ID, replace, markdown)


def find_code_addresses(markdown: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of addresses in code: URLs, IP addresses, and hosts that a command connects to."""
    for begin, stop in find_code(markdown):
        code = markdown[begin:stop]
        found = [match.span() for match in _ADDRESS.finditer(code)]
        for command in _DOWNLOAD.finditer(code):
            start = command.start()
            found += [(start + match.start(), start + match.end()) for match in _HOST.finditer(command[0])]
        found += [match.span("address") for match in _IP_ADDRESS.finditer(code) if match["address"]]
        found += _find_host_arguments(code)
        last = 0
        for start, end in sorted(found, key=lambda span: (span[0], -span[1])):
            address = code[start:end].rstrip(_TRAILING)
            if start >= last and not _is_local(address):
                yield begin + start, begin + start + len(address)
                last = end


def _find_host_arguments(code: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of hosts without a scheme among the arguments of commands that connect to one."""
    end = 0
    while command := _COMMAND.search(code, end):
        end = command.end()
        if _COMMENT.match(code[max(0, command.start() - _MAX_COMMENT_CHARS) : command.start()].rpartition("\n")[2]):
            continue
        option = ""
        for argument in _ARGUMENT.finditer(code, end):
            end, word = argument.end(), argument[0].strip("\"'")
            if argument["end"]:
                break
            if word.startswith("-"):
                option, _, word = word.partition("=")
            if not word or word[0] in "<>":
                continue
            is_value, option = _is_value(word, option, command), ""
            if not is_value and _HOST_ARGUMENT.fullmatch(word):
                start = argument.start() + argument[0].index(word)
                yield start, start + len(word)
            if not (is_value or command["copy"] or command["download"]):
                break  # what follows runs on the host


def _is_value(word: str, option: str, command: re.Match[str]) -> bool:
    """Return whether an argument is the value of an option, or a file to copy."""
    if command["copy"]:
        return "@" not in word and ":" not in word
    letters = _VALUE_LETTERS.get((command["name"] or "").lower(), "\0" if command["download"] else _VALUE_LETTERS[""])
    return bool(_VALUE_OPTION.fullmatch(option) or re.fullmatch(f"-[^-{letters}]*[{letters}]", option))


def find_addresses(text: str) -> set[str]:
    """Return all addresses of a text, normalized, to compare others with them."""
    found = (match[0] for match in _ANY_ADDRESS.finditer(text))
    hosts = (match[0] for pattern in (_HOST, _NAME) for match in pattern.finditer(text))
    in_code = (text[start:end] for start, end in find_code_addresses(text))
    linked = (match[1] for match in re.finditer(r"\]\(\s*<?([^\s()<>]+)", text))
    return {normalize_address(address) for source in (found, hosts, in_code, linked) for address in source}


def normalize_address(address: str) -> str:
    """Return an address in the form in which addresses are compared: without escapes, fragment and `{placeholders}`."""
    address = _INVISIBLE.sub("", unquote(_unescape(re.sub(r"\\(?=[!-/:-@\[-`{-~])", "", address))))
    address = re.split("[#{]", address, maxsplit=1)[0]
    end, unopened = len(address), address.count(")") - address.count("(")
    while end and (address[end - 1] in _TRAILING or (address[end - 1] == ")" and unopened > 0)):
        end, unopened = end - 1, unopened - (address[end - 1] == ")")
    address = address[:end]
    address = re.sub(r"^(?:(?:https?:)?//|mailto:)", "", address.replace("\\", "/"), flags=re.IGNORECASE).rstrip("/")
    host, slash, path = address.partition("/")
    return f"{host.lower()}{slash}{path}"


def _unescape(text: str) -> str:
    """Return text with its character references replaced; `unescape` fails for numbers of more than 4,300 digits."""
    return unescape(re.sub(r"&#0*(\d{1,7})\d*", r"&#\1", text))


def is_on_site(address: str, site_url: str) -> bool:
    """Return whether an address is on a site, below its URL; relative addresses are if they lead there."""
    address = _INVISIBLE.sub("", _unescape(address)).replace("\\", "/")
    if address.startswith("#"):
        return True
    if address.lower().startswith(("mailto:", "www.")) or _NO_SLASHES.match(address):
        return False
    try:
        site, target = urlsplit(site_url), urlsplit(urljoin(site_url, address))
    except ValueError:
        return False
    if not site.netloc:
        return not (_SCHEME.match(address) or address.startswith("//"))
    if "@" in target.netloc or target.scheme not in ("http", "https") or "/.." in unquote(target.path):
        return False
    return target.netloc.lower() == site.netloc.lower() and f"{target.path}/".startswith(f"{site.path.rstrip('/')}/")


def _replace_link(match: re.Match[str], is_known: IsKnown) -> str:
    if match["html"] is not None:
        return match[0] if _HARMLESS_TAG.fullmatch(match["html"]) else ""
    if match["bare"] is not None:
        address = match["bare"].rstrip(_TRAILING)
        return match[0] if is_known(address) or not _is_linked(address) else match["bare"][len(address) :]
    address = _find_target(match)
    if match["image"] is not None and not address:
        return ""
    return match[0] if is_known(address) else match["link"] or ""


def _find_target(match: re.Match[str]) -> str:
    """Return the address of a link, an image, a definition or an autolink."""
    if match["auto"] is not None:
        return match["auto"] if ":" in match["auto"] else f"mailto:{match['auto']}"
    return next(filter(None, match.group("image_1", "image_2", "link_1", "link_2", "defined_1", "defined_2")), "")


def _is_linked(address: str) -> bool:
    """Return whether renderers turn a bare address into a link, or a reader would."""
    return "//" in address or address.lower().startswith(("www.", "javascript:", "data:", "vbscript:", "mailto:"))


def _is_local(address: str) -> bool:
    host = re.sub(r"^[a-z][a-z0-9+.-]*://", "", address, flags=re.IGNORECASE).partition("/")[0].rpartition("@")[2]
    return not host or bool(_PLACEHOLDER_HOST.match(host)) or bool(_LOCAL_HOST.match(host))


# What a renderer makes of the text


@cache
def _load_parser() -> MarkdownIt:
    from markdown_it import MarkdownIt  # takes 0.1 s to import, and most answers contain no link

    parser = MarkdownIt("commonmark").enable("table")
    parser.validateLink = lambda url: True  # type: ignore[method-assign]  # other renderers accept any
    return parser


def _rendered_addresses(markdown: str) -> Iterator[str]:
    """Yield the addresses of links and images as CommonMark finds them; raw HTML with attributes is one, too."""
    environment: dict[str, dict[str, dict[str, str]]] = {}
    tokens = _load_parser().parse(markdown, environment)
    yield from _token_addresses(tokens)
    for definition in environment.get("references", {}).values():
        yield definition["href"]


def _token_addresses(tokens: list[Token]) -> Iterator[str]:
    for token in tokens:
        yield from (str(token.attrs[name]) for name in ("href", "src") if name in token.attrs)
        if token.type in ("html_inline", "html_block"):
            tags = re.findall(r"<[!?/]?[a-z][^>]*>?", token.content, re.IGNORECASE)
            yield from (tag for tag in tags if not _HARMLESS_TAG.fullmatch(tag))
        elif token.type == "text":
            bare = re.findall(rf"(?<![\w/]){_BARE}", token.content, re.IGNORECASE)
            yield from (address for address in bare if _is_linked(address))
        yield from _token_addresses(token.children or [])
