"""The widget on a site: its options, its elements on each page, and its files."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from html import escape
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.manifest.lookup import Scope
from mkdocs_roaming.manifest.models import Site, relative_url
from mkdocs_roaming.publish.elements.html import (
    LANGUAGES,
    find_content_start,
    find_head_end,
    find_page_start,
    insert_pieces,
    load_icon,
    load_texts,
    read_asset,
)
from mkdocs_roaming.settings import decode_table
from mkdocs_roaming.text.languages import base_language

_PLACEHOLDER = re.compile(r"\{(\w*)\}")
"""A placeholder in the URL of a link: `{question}`."""
_PLACEHOLDERS = ("question", "sections", "page")
_LANG = re.compile(r"<html[^>]*?\blang=[\"']?([a-zA-Z]+)")
_HEADER_ENDS = re.compile(r'<nav\b|</nav\b|<div class="md-header__source"')
"""Begin and end of the header of Material, and of what is in it."""
_OFF = {"mode": "off", "persist": "off", "shortcut": ""}
"""The values of options that are off."""

# Options

_Address = Annotated[
    str, Meta(pattern=r"^(https?://[^/\s]|/|mailto:)\S*$", examples=["https://example.org/new?title={question}"])
]


@dataclass(frozen=True, slots=True)
class WayOut:
    """A link for readers whose question was not answered, such as a new issue. The URL may contain placeholders."""

    label: Annotated[str, Meta(min_length=1)]
    url: _Address


@dataclass(frozen=True, slots=True)
class WidgetOptions:
    """The options of the widget; docs/widget.md describes them."""

    endpoint: Annotated[str, Meta(pattern="^(https?://[^/?#]|/|$)", examples=["https://ask.example/"])] = ""
    mode: Literal["auto", "endpoint", "finder", "off"] = "auto"
    open: bool = False
    persist: Literal["off", "session", "local"] = "session"
    shortcut: Annotated[str, Meta(max_length=1, examples=["i"])] = "i"
    """The key that opens the panel together with Ctrl or Cmd; empty for none."""
    replace_search: bool = False
    """Whether the panel replaces the search of the theme: its field, its keys, and Ctrl+K."""
    allow_links: tuple[
        Annotated[str, Meta(pattern=r"^https?://[^/\s]+\S*$", examples=["https://example.org/"])], ...
    ] = ()
    """URL prefixes of other sites that answers may link to."""
    page_context: bool = True
    """Whether a question is sent with the path of the page."""
    feedback: bool = False
    show_usage: bool = False
    """Whether readers see the model, the tokens and the cost of an answer."""
    selection: bool = True
    """Whether selected text of the article shows a bar: ask about it, copy a link to it."""
    links: tuple[WayOut, ...] = ()
    """Links for readers whose question was not answered."""
    questions: tuple[str, ...] = ()
    """The questions that pages without own ones suggest."""
    scope: Scope | None = None
    """The part of the site that is asked and searched."""
    strings: dict[str, str] | None = None
    """Texts of the widget that replace the translated ones."""


def parse_widget_options(config: object, *, own_endpoint: str = "") -> WidgetOptions | None:
    """Parse the option `widget`: true, false or a mapping.

    Args:
        config: The value of the option.
        own_endpoint: The endpoint of `mkdocs serve`. It replaces a configured one, which neither has the pages as
            they are being written nor accepts requests from this origin. Without one the panel finds, as it will on
            the deployed site.

    Returns:
        The options, or None if the widget is off.

    Raises:
        PublishError: The value is of another kind, or options contradict each other.
        SettingError: An option is invalid.
    """
    if config is None or config is False:
        return None
    if config is True:
        return WidgetOptions()
    if not isinstance(config, Mapping):
        raise PublishError(
            f"widget: {config!r} is invalid; set it to true, or to options such as `endpoint: https://…`"
        )
    values = {name: value for name, value in config.items() if value is not None}
    for name, off in _OFF.items():
        if values.get(name) in (False, "off"):  # YAML reads a plain `off` as false
            values[name] = off
    if own_endpoint and values.get("endpoint"):
        values["endpoint"] = own_endpoint
    options = decode_table(values, WidgetOptions, "widget")
    if options.mode == "endpoint" and not options.endpoint:
        raise PublishError("widget: mode is `endpoint`, but no endpoint is set; add `endpoint: https://…`")
    for link in options.links:
        unknown = sorted(set(_PLACEHOLDER.findall(link.url)) - set(_PLACEHOLDERS))
        if unknown:
            available = ", ".join(f"{{{name}}}" for name in _PLACEHOLDERS)
            raise PublishError(f"widget: links: unknown placeholder {{{unknown[0]}}} in {link.url!r}; use {available}")
    return options if options.mode != "off" else None


# Pages


def add_widget(
    html: str,
    options: WidgetOptions,
    path: str,
    site: Site,
    suggestions: Iterable[str] = (),
    *,
    published: bool = True,
    root: str = "",
) -> str:
    """Add the widget to a page.

    The data of the page is a template in the part that themes replace when they navigate without a page load. The
    element itself is outside of it, so that it keeps the conversation, and before the page, so that its button is an
    early Tab stop. The script is in the head: it moves the page aside for an open panel before the page is shown, and
    loads the widget after that.

    Args:
        html: The page.
        options: The options of the widget.
        path: The path of the page.
        site: The site.
        suggestions: Questions that the widget suggests on this page.
        published: Whether the page is in the manifest.
        root: See `relative_url`.
    """
    if options.endpoint and options.mode != "finder":
        html = _add_header_button(html, options)
    data = {"manifest": relative_url(path, MANIFEST_PATH, root), "site": site.url, "title": site.name}
    if published:
        data["path"] = path
    if suggested := list(suggestions):
        data["suggestions"] = json.dumps(suggested, ensure_ascii=False)
    attributes = "".join(f' data-{name}="{escape(value)}"' for name, value in data.items())
    template = f"<template data-roaming data-roaming-page data-pagefind-ignore{attributes}></template>"
    source = escape(relative_url(path, _SCRIPT, root))
    script = f'<script src="{source}" data-roaming></script>'
    element = f"<roaming-ask data-roaming{_format_attributes(options)}></roaming-ask>"
    head_end = find_head_end(html)
    if head_end is None:
        element = script + element
    content_start = find_content_start(html) or 0
    return insert_pieces(html, (content_start, template), (head_end, script), (find_page_start(html), element))


def _add_header_button(html: str, options: WidgetOptions) -> str:
    """Add a button beside the search in the header of Material for MkDocs.

    It is written into the page, and not added by the script, so that the header does not move. The script, which runs
    before the page is first drawn, styles it and shows the shortcut.
    """
    start = html.find('<nav class="md-header__inner')
    if start < 0 or 'data-md-component="search"' not in html:
        return html
    language = _LANG.search(html)
    texts = load_texts(language[1] if language else "en")
    label = (options.strings or {}).get("ask") or texts["ask"]
    shortcut = f" <kbd hidden>Ctrl {escape(options.shortcut.upper())}</kbd>" if options.shortcut else ""
    button = _HEADER_BUTTON.format(icon=load_icon("ask"), label=escape(label), shortcut=shortcut)
    depth = 0
    for tag in _HEADER_ENDS.finditer(html, start):
        is_source = tag[0].startswith("<div")
        if not is_source:
            depth += -1 if tag[0].startswith("</") else 1
        if is_source or depth == 0:
            return html[: tag.start()] + button + html[tag.start() :]
    return html


_HEADER_BUTTON = (
    '<button type="button" class="md-header__button" data-roaming data-roaming-open aria-haspopup="dialog" '
    'aria-expanded="false">{icon} <b>{label}</b>{shortcut}</button>'
)


def _format_attributes(options: WidgetOptions) -> str:
    """Return the attributes of the element for all options that differ from their default."""
    attributes = ""
    for field in fields(options):
        value = getattr(options, field.name)
        if value != field.default and field.name not in ("open", "questions"):
            attributes += f' {field.name.replace("_", "-")}="{escape(_format_value(value))}"'
    return attributes + (" open" if options.open else "")


def _format_value(value: object) -> str:
    if isinstance(value, bool):
        return "on" if value else "off"
    if isinstance(value, str):
        return value or "off"
    if isinstance(value, tuple) and isinstance(value[0], str):
        return " ".join(value)
    return msgspec.json.encode(value).decode()


# Files

MODULES = (
    "roaming-early.js",
    "roaming-ask.js",
    "roaming-panel.js",
    "roaming-turn.js",
    "roaming-trail.js",
    "roaming-markdown.js",
    "roaming-highlight.js",
    "roaming-math.js",
    "roaming-result.js",
    "roaming-marks.js",
    "roaming-card.js",
    "roaming-passage.js",
    "roaming-tools.js",
    "roaming-find.js",
    "roaming-excerpt.js",
    "roaming-finder.js",
    "roaming-library.js",
    "roaming-meaning.js",
    "roaming-selection.js",
    "roaming-search.js",
    "roaming-webmcp.js",
)
"""The script that pages load, the module that it loads, and those that are loaded on demand."""

_SCRIPT = f"roaming/{MODULES[0]}"


def iter_widget_files(language: str) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the widget's files: its modules, and its translation if there is one."""
    code = base_language(language)
    translation = [f"ask.{code}.json"] if code in LANGUAGES else []
    for name in (*MODULES, *translation):
        yield f"roaming/{name}", read_asset(name)
