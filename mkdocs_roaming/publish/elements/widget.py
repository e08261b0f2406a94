"""The widget on a site: its options, its elements on each page, and its files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from functools import cache
from html import escape
from importlib import resources
from typing import Annotated, Any, Literal, get_type_hints

import msgspec
from msgspec import Meta

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.manifest.models import Site, relative_url
from mkdocs_roaming.publish.elements.finder_index import INDEX_PATH
from mkdocs_roaming.publish.pointers import find_content_start

# Options

_Address = Annotated[str, Meta(pattern=r"^(https?://[^/\s]|/|mailto:)\S*$")]


@dataclass(frozen=True, slots=True)
class WayOut:
    """A link for readers whose question was not answered, such as a new issue. The URL may contain placeholders."""

    label: Annotated[str, Meta(min_length=1)]
    url: _Address


@dataclass(frozen=True, slots=True)
class WidgetOptions:
    """The options of the widget; docs/widget.md describes them."""

    endpoint: Annotated[str, Meta(pattern="^(https?://[^/?#]|/)")] = ""
    mode: Literal["auto", "endpoint", "finder", "off"] = "auto"
    open: bool = False
    persist: Literal["off", "session", "local"] = "session"
    shortcut: Annotated[str, Meta(min_length=1, max_length=1)] = "i"
    """The key that opens the panel together with Ctrl or Cmd; empty for none."""
    allow_links: tuple[Annotated[str, Meta(pattern=r"^https?://[^/\s]+\S*$")], ...] = ()
    """URL prefixes of other sites that answers may link to."""
    page_context: bool = True
    """Whether a question is sent with the path of the page."""
    feedback: bool = False
    show_usage: bool = False
    """Whether readers see the model, the tokens and the cost of an answer."""
    links: tuple[WayOut, ...] = ()
    """Links for readers whose question was not answered."""
    questions: str | tuple[str, ...] = ()
    """The path of a question file, or the questions that pages without own ones suggest."""
    scope: Scope | None = None
    """The part of the site that is asked and searched."""
    strings: dict[str, str] | None = None
    """Texts of the widget that replace the translated ones."""


def parse_widget_options(config: object, *, own_endpoint: str = "") -> WidgetOptions | None:
    """Parse the option `widget`: true, false or a mapping.

    Args:
        config: The value of the option.
        own_endpoint: The endpoint of `mkdocs serve`. It replaces the configured one, which neither has the pages as
            they are being written nor accepts requests from this origin.

    Returns:
        The options, or None if the widget is off.

    Raises:
        PublishError: An option is invalid.
    """
    if config is None or config is False:
        return None
    if config is True:
        return WidgetOptions(own_endpoint)
    if not isinstance(config, Mapping):
        raise PublishError(
            f"widget: {config!r} is invalid; set it to true, or to options such as `endpoint: https://…`"
        )
    if unknown := sorted(map(str, set(config) - set(_TYPES))):
        raise PublishError(f"widget: unknown option `{unknown[0]}`. Available options: {', '.join(_TYPES)}")
    values = {name: _parse_option(name, value) for name, value in config.items() if value is not None}
    values["endpoint"] = own_endpoint or values.get("endpoint", "")
    options = WidgetOptions(**values)
    if options.mode == "endpoint" and not options.endpoint:
        raise PublishError("widget: mode is `endpoint`, but no endpoint is set; add `endpoint: https://…`")
    for link in options.links:
        if unknown := sorted(set(_PLACEHOLDER.findall(link.url)) - set(_PLACEHOLDERS)):
            available = ", ".join(f"{{{name}}}" for name in _PLACEHOLDERS)
            raise PublishError(f"widget: links: unknown placeholder {{{unknown[0]}}} in {link.url!r}; use {available}")
    return options if options.mode != "off" else None


def _parse_option(name: str, value: object) -> Any:
    if value is False and name in ("mode", "persist"):
        value = "off"  # YAML reads a plain `off` as false
    if name == "shortcut" and (value is False or value in ("", "off")):
        return ""
    try:
        return msgspec.convert(value, _TYPES[name])
    except msgspec.ValidationError:
        raise PublishError(f"widget: {name} is {value!r}; set it to {_EXPECTED[name]}") from None


_TYPES = get_type_hints(WidgetOptions, include_extras=True)
_EXPECTED = {
    "endpoint": "a URL such as https://ask.example/",
    "mode": "one of auto, endpoint, finder, off",
    "open": "true or false",
    "persist": "one of off, session, local",
    "shortcut": "one letter, which is pressed with Ctrl or Cmd, or false",
    "allow_links": "a list of URLs such as https://example.org/",
    "page_context": "true or false",
    "feedback": "true or false",
    "show_usage": "true or false",
    "links": "a list of mappings with `label` and `url`, such as `url: https://example.org/new?title={question}`",
    "questions": "the path of a question file, or a list of questions",
    "scope": "a mapping with lists `tags` and `paths`, such as `paths: [guide/**]`",
    "strings": "a mapping of names to texts, such as `title: Ask us`",
}
_PLACEHOLDER = re.compile(r"\{(\w*)\}")
_PLACEHOLDERS = ("question", "sections", "page")


# Pages


def add_widget(
    html: str,
    options: WidgetOptions,
    path: str,
    site: Site,
    suggestions: Iterable[str] = (),
    *,
    published: bool = True,
    on_disk: bool = False,
    root: str = "",
) -> str:
    """Add the widget to a page; the widget of an earlier build is replaced.

    The data of the page is a template in the part that themes replace when they navigate without a page load. The
    element itself is at the end of the body, so that it keeps the conversation. The script is in the head: it moves
    the page aside for an open panel before the page is shown.

    Args:
        html: The page.
        options: The options of the widget.
        path: The path of the page.
        site: The site.
        suggestions: Questions that the widget suggests on this page.
        published: Whether the page is in the manifest.
        on_disk: Whether the site is opened from a disk. A script then says that the widget needs a server.
        root: See `relative_url`.
    """
    html = remove_widget(html)
    if options.endpoint and options.mode != "finder":
        html = _add_header_button(html, options)
    files = {"manifest": MANIFEST_PATH, "index": INDEX_PATH}
    data = {name: relative_url(path, file, root) for name, file in files.items()}
    data |= {"site": site.url, "title": site.name}
    if published:
        data["path"] = path
    if suggested := list(suggestions):
        data["suggestions"] = json.dumps(suggested, ensure_ascii=False)
    attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in data.items())
    template = f"<template data-roaming data-roaming-page data-pagefind-ignore{attributes}></template>"
    start = find_content_start(html) or 0
    html = html[:start] + template + html[start:]
    source = escape(relative_url(path, _SCRIPT, root))
    script = f'<script type="module" async blocking="render" src="{source}" data-roaming></script>'
    if on_disk:
        script += _make_disk_script(html, path)
    element = f"<roaming-ask data-roaming{_format_attributes(options)}></roaming-ask>"
    head = html.lower().find("</head")
    html, element = (html[:head] + script + html[head:], element) if head >= 0 else (html, script + element)
    end = html.lower().rfind("</body")
    return html[:end] + element + html[end:] if end >= 0 else html + element


def _add_header_button(html: str, options: WidgetOptions) -> str:
    """Add a button beside the search in the header of Material for MkDocs.

    It is written into the page, and not added by the script, so that the header does not move. The script, which runs
    before the page is first drawn, styles it and shows the shortcut.
    """
    start = html.find('<nav class="md-header__inner')
    if start < 0 or 'data-md-component="search"' not in html:
        return html
    label = (options.strings or {}).get("ask") or _load_texts(html)["ask"]
    shortcut = f" <kbd hidden>Ctrl {escape(options.shortcut.upper())}</kbd>" if options.shortcut else ""
    button = _HEADER_BUTTON.format(icon=_ICON, label=escape(label), shortcut=shortcut)
    depth = 0
    for found in _HEADER_ENDS.finditer(html, start):
        depth += 0 if found[0].startswith("<div") else -1 if found[0].startswith("</") else 1
        if found[0].startswith("<div") or not depth:
            return html[: found.start()] + button + html[found.start() :]
    return html


def _make_disk_script(html: str, path: str) -> str:
    source, texts = relative_url(path, f"roaming/{DISK_MODULE}"), _load_texts(html)
    data = f'data-label="{escape(texts["ask"])}" data-note="{escape(texts["disk"])}"'
    return f'<script defer src="{escape(source)}" {data} data-roaming></script>'


PAGE_ENGLISH = {"ask": "Ask", "disk": "Questions need a web server: this page was opened from a disk."}
"""Texts that are written into pages: of the header's button, and of the note on pages from a disk."""


def _load_texts(html: str) -> Mapping[str, str]:
    """Return the texts in the language of a page."""
    language = _LANG.search(html)
    return load_translation(language[1].lower() if language else "en")


@cache
def load_translation(language: str) -> dict[str, str]:
    """Return the translations for a language tag; without any, the English texts of a page."""
    language = language.lower().replace("_", "-").partition("-")[0]
    if language not in LANGUAGES:
        return PAGE_ENGLISH
    text = (resources.files("mkdocs_roaming.widget") / f"ask.{language}.json").read_text("utf-8")
    return msgspec.json.decode(text, type=dict[str, str])


_LANG = re.compile(r"<html[^>]*?\blang=[\"']?([a-zA-Z]+)")
_HEADER_ENDS = re.compile(r'<nav\b|</nav\b|<div class="md-header__source"')
_HEADER_BUTTON = (
    '<button type="button" class="md-header__button" data-roaming data-roaming-open aria-haspopup="dialog" '
    'aria-expanded="false">{icon} <b>{label}</b>{shortcut}</button>'
)
_ICON = (
    '<svg width="18" height="18" viewBox="0 0 24 24" aria-hidden="true"><path fill="none" stroke="currentColor" '
    'stroke-width="1.6" stroke-linejoin="round" d="M12 3.5c5 0 9 3.4 9 7.9s-4 7.9-9 7.9c-1 0-2-.1-2.9-.4L4 20.5l1.3'
    '-3.8C3.9 15.3 3 13.5 3 11.4c0-4.5 4-7.9 9-7.9Z"/><path fill="currentColor" d="M12 6.5c.4 3.1 1.6 4.4 4.8 4.9-3.2.5'
    '-4.4 1.8-4.8 4.9-.4-3.1-1.6-4.4-4.8-4.9 3.2-.5 4.4-1.8 4.8-4.9Z"/></svg>'
)


def remove_widget(html: str) -> str:
    """Remove the widget from a page."""
    return _OWN_ELEMENTS.sub("", html) if "<roaming-ask data-roaming" in html else html


_OWN_ELEMENTS = re.compile(
    r"<template data-roaming data-roaming-page\b[^<>]*></template>"
    r'|<script type="module"(?: async blocking="render")? src="[^"]*roaming-ask\.js" data-roaming></script>'
    r'|<script defer src="[^"]*roaming-disk\.js" [^<>]*data-roaming></script>'
    r"|<roaming-ask data-roaming\b[^<>]*></roaming-ask>"
    r'|<button type="button" class="md-header__button" data-roaming data-roaming-open\b.*?</button>'
)


def _format_attributes(options: WidgetOptions) -> str:
    """Return the attributes of the element for all options that differ from their default."""
    default = WidgetOptions()
    attributes = {
        "endpoint": options.endpoint,
        "mode": options.mode if options.mode != default.mode else "",
        "persist": options.persist if options.persist != default.persist else "",
        "shortcut": "" if options.shortcut == default.shortcut else options.shortcut.lower() or "off",
        "allow-links": " ".join(options.allow_links),
        "page-context": "" if options.page_context else "off",
        "feedback": "on" if options.feedback else "",
        "show-usage": "on" if options.show_usage else "",
        "links": json.dumps([asdict(link) for link in options.links], ensure_ascii=False) if options.links else "",
        "scope": msgspec.json.encode(options.scope).decode() if options.scope else "",
        "strings": json.dumps(options.strings, ensure_ascii=False) if options.strings else "",
    }
    text = "".join(f' {name}="{escape(value)}"' for name, value in attributes.items() if value)
    return text + (" open" if options.open else "")


# Files

MODULES = (
    "roaming-ask.js",
    "roaming-turn.js",
    "roaming-trail.js",
    "roaming-markdown.js",
    "roaming-highlight.js",
    "roaming-result.js",
    "roaming-marks.js",
    "roaming-card.js",
    "roaming-passage.js",
    "roaming-tools.js",
    "roaming-find.js",
    "roaming-finder.js",
    "roaming-library.js",
    "roaming-search.js",
    "roaming-webmcp.js",
)
"""The module that pages load, and those that it loads on demand."""

LANGUAGES = ("de", "es", "fr", "ja", "zh")
"""The translations of the widget."""

DISK_MODULE = "roaming-disk.js"
"""The script of sites that are built for disks."""

_SCRIPT = f"roaming/{MODULES[0]}"


def iter_widget_files(language: str, *, on_disk: bool = False) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the widget's files: its modules, and its translation if there is one."""
    folder = resources.files("mkdocs_roaming.widget")
    for name in (*MODULES, DISK_MODULE) if on_disk else MODULES:
        yield f"roaming/{name}", (folder / name).read_bytes()
    code = language.lower().replace("_", "-").partition("-")[0]
    if code in LANGUAGES:
        yield f"roaming/ask.{code}.json", (folder / f"ask.{code}.json").read_bytes()
