"""The widget on a site: its options, what every page carries of it, and its files."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from posixpath import relpath
from typing import Any
from urllib.parse import quote, urlsplit

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.io import MANIFEST_PATH as MANIFEST
from mkdocs_roaming.manifest.sections import Section
from mkdocs_roaming.publish.files import resolve_inside, write_atomically
from mkdocs_roaming.text.markdown import to_single_line
from mkdocs_roaming.widget import SCRIPT, files

MODES = ("auto", "endpoint", "finder", "off")
STORES = ("off", "session", "local")
MAX_SUGGESTIONS = 4


@dataclass(frozen=True, slots=True)
class WidgetOptions:
    """How the widget stands on the pages of a site."""

    endpoint: str = ""
    mode: str = "auto"
    open: bool = False
    persist: str = "session"
    shortcut: str = "i"
    """The key that opens it with Ctrl or Cmd; empty for none."""
    allow_links: tuple[str, ...] = ()
    """Other sites that answers may link to, as beginnings of addresses."""
    page_context: bool = True
    """Whether a question tells the page it is asked on."""
    feedback: bool = False
    strings: Mapping[str, str] | None = None
    """Words of the widget that are said differently."""


def parse_widget_options(given: object, *, own_endpoint: str = "") -> WidgetOptions | None:
    """Read the option `widget`: true, or how; None where there is none.

    `own_endpoint`, of a server for what is being written, answers whatever endpoint is named: that one knows what is
    published, and lets no other pages ask. Raises PublishError where an option makes no sense.
    """
    if given is None or given is False:
        return None
    if given is True:
        return WidgetOptions(own_endpoint)
    if not isinstance(given, Mapping):
        raise PublishError(f"widget: is {given!r}; set it to true, or to options such as `endpoint: https://…`")
    if unknown := sorted(map(str, set(given) - set(_READ))):
        raise PublishError(f"widget: does not know `{unknown[0]}`; its options are {', '.join(_READ)}")
    told = {name: _READ[name](name, value) for name, value in given.items() if value is not None}
    read = WidgetOptions(**{**told, "endpoint": own_endpoint or told.get("endpoint", "")})
    if read.mode == "endpoint" and not read.endpoint:
        raise PublishError("widget: mode is `endpoint`, but none is named; add `endpoint: https://…`")
    return read if read.mode != "off" else None


def add_widget(
    html: str,
    widget: WidgetOptions,
    path: str,
    site_url: str,
    suggestions: Iterable[str] = (),
    *,
    published: bool = True,
) -> str:
    """Give a page's HTML with the widget; doing it twice changes nothing.

    What belongs to the page stands where themes exchange it when they navigate without loading; the element itself
    stands at the end of the body, where it keeps its turns.
    """
    html = remove_widget(html)
    data = {"manifest": _relative(path, MANIFEST), "site": site_url}
    if published:
        data["path"] = path
    if shown := list(suggestions)[:MAX_SUGGESTIONS]:
        data["suggestions"] = json.dumps(shown, ensure_ascii=False)
    told = "".join(f' data-{name}="{escape(value)}"' for name, value in data.items())
    template = f"<template data-roaming data-roaming-page data-pagefind-ignore{told}></template>"
    if found := _SWAPPED.search(html) or _BODY.search(html):
        html = html[: found.end()] + template + html[found.end() :]
    else:
        html = template + html
    element = (
        f'<script type="module" src="{escape(_relative(path, SCRIPT))}" data-roaming></script>'
        f"<roaming-ask data-roaming{_attributes(widget)}></roaming-ask>"
    )
    end = html.lower().rfind("</body")
    return html[:end] + element + html[end:] if end >= 0 else html + element


def remove_widget(html: str) -> str:
    """Give a page's HTML without what an earlier build put in."""
    return _OURS.sub("", html) if "<roaming-ask data-roaming" in html else html


def suggest_questions(given: object, sections: Iterable[Section]) -> list[str]:
    """Give what a page suggests to ask: what its front matter says of `ask`, else its headings, questions first."""
    if isinstance(given, list):
        return [to_single_line(str(one)) for one in given if str(one).strip()]
    titles = [
        (each.level, title)
        for each in sections
        if each.level in (2, 3) and 3 <= len(title := to_single_line(each.title)) <= _LONGEST
    ]
    questions = [title for _, title in titles if title.endswith(("?", "？"))]
    levels = [title for level, title in titles if level == 2]
    return list(dict.fromkeys([*questions, *levels]))[:MAX_SUGGESTIONS]


def write_widget_files(folder: Path, language: str) -> None:
    """Write the widget's files below a site's folder."""
    for path, data in files(language):
        write_atomically(resolve_inside(folder, path), data)


_LONGEST = 80
_OURS = re.compile(
    r"<template data-roaming data-roaming-page\b[^>]*></template>"
    r'|<script type="module" src="[^"]*" data-roaming></script>'
    r"|<roaming-ask data-roaming\b[^>]*></roaming-ask>"
)
_BODY = re.compile(r"<body\b[^>]*>", re.IGNORECASE)
_SWAPPED = re.compile(r"""<div\b[^>]*\bdata-md-component=["']?container\b[^>]*>""")
"""What Material and Zensical exchange when they navigate without loading."""


def _attributes(widget: WidgetOptions) -> str:
    default = WidgetOptions()
    told = {
        "endpoint": widget.endpoint,
        "mode": widget.mode if widget.mode != default.mode else "",
        "persist": widget.persist if widget.persist != default.persist else "",
        "shortcut": "" if widget.shortcut == default.shortcut else widget.shortcut or "off",
        "allow-links": " ".join(widget.allow_links),
        "page-context": "" if widget.page_context else "off",
        "feedback": "on" if widget.feedback else "",
        "strings": json.dumps(dict(widget.strings), ensure_ascii=False) if widget.strings else "",
    }
    given = "".join(f' {name}="{escape(value)}"' for name, value in told.items() if value)
    return given + (" open" if widget.open else "")


def _relative(path: str, target: str) -> str:
    return quote(relpath("/" + target, "/" + path.rpartition("/")[0]), safe="/-._~!$&'()*+,;=@")


# How each option is read


def _flag(name: str, value: object) -> bool:
    if not isinstance(value, bool):
        raise PublishError(f"widget: {name} is {value!r}; it is true or false")
    return value


def _one_of(*choices: str) -> Callable[[str, object], str]:
    def read(name: str, value: object) -> str:
        value = "off" if value is False else value  # what YAML makes of a plain `off`
        if value not in choices:
            raise PublishError(f"widget: {name} is {value!r}; it is one of {', '.join(choices)}")
        return str(value)

    return read


def _endpoint(name: str, value: object) -> str:
    parts = urlsplit(value) if isinstance(value, str) else None
    if parts is None or not ((parts.scheme in ("http", "https") and parts.netloc) or str(value).startswith("/")):
        raise PublishError(f"widget: {name} is {value!r}; it is an address, such as https://ask.example/")
    return str(value)


def _key(name: str, value: object) -> str:
    if value is False or value in ("", "off"):
        return ""
    if not isinstance(value, str) or len(value) != 1:
        raise PublishError(f"widget: {name} is {value!r}; it is one letter, pressed with Ctrl or Cmd, or false")
    return value.lower()


def _addresses(name: str, value: object) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(
        isinstance(each, str) and re.match(r"https?://[^/\s]+\S*$", each) for each in value
    ):
        raise PublishError(f"widget: {name} is {value!r}; it is a list of addresses, such as https://example.org/")
    return tuple(value)


def _texts(name: str, value: object) -> dict[str, str]:
    if not isinstance(value, Mapping) or not all(isinstance(each, str) for pair in value.items() for each in pair):
        raise PublishError(f"widget: {name} is {value!r}; it names words and how to say them, such as `title: Ask us`")
    return dict(value)


_READ: dict[str, Callable[[str, object], Any]] = {
    "endpoint": _endpoint,
    "mode": _one_of(*MODES),
    "open": _flag,
    "persist": _one_of(*STORES),
    "shortcut": _key,
    "allow_links": _addresses,
    "page_context": _flag,
    "feedback": _flag,
    "strings": _texts,
}
