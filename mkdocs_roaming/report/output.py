"""Format a report for a terminal, or as an HTML page without scripts and network requests."""

from __future__ import annotations

import base64
import hashlib
import re
from importlib import resources

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from mkdocs_roaming.report.access import KINDS, load_tables
from mkdocs_roaming.report.report import Report

_FORBIDDEN = re.compile("[^\t\n\x20-\x7e\xa0-\ud7ff\ue000-\ufdcf\ufdf0-\ufffd\U00010000-\U0010fffd]")
"""Characters that HTML forbids."""


def format_report(report: Report) -> list[str]:
    """Return the lines of a report for a terminal."""
    return _render("report.txt", report).splitlines()


def render_report(report: Report) -> str:
    """Return the page of a report; its content security policy allows nothing but its own style sheet."""
    style = _read("page.css")
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    html = _render("page.html", report, style=Markup(style), style_digest=digest)
    return _FORBIDDEN.sub("\ufffd", html)


def _render(template: str, report: Report, **context: object) -> str:
    environment = Environment(
        autoescape=template.endswith(".html"), trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined
    )
    environment.filters |= {
        "day": lambda time: f"{time:%Y-%m-%d}",
        "one_line": lambda text: " ".join(text.split()),
        "percent": lambda share: f"{100 * share:.0f} %",
        "plural": lambda count, noun: f"{count:,} {noun}{'' if count == 1 else 's'}",
    }
    page = environment.from_string(_read(template))
    return page.render(report=report, tables=load_tables(), kinds=KINDS, **context)


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")
