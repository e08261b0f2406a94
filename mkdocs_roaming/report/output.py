"""Format a report for a terminal, or as an HTML page without scripts and network requests."""

from __future__ import annotations

import tomllib
from importlib import resources
from typing import Any

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

from mkdocs_roaming.report.report import Report

_FILTERS = {
    "day": lambda time: f"{time:%Y-%m-%d}",
    "one_line": lambda text: " ".join(text.split()),
    "percent": lambda share: f"{100 * share:.0f} %",
    "plural": lambda count, noun: f"{count:,} {noun}{'' if count == 1 else 's'}",
}


def format_report(report: Report) -> list[str]:
    """Return the lines of a report for a terminal."""
    return _render("report.txt", report).splitlines()


def render_report(report: Report) -> str:
    """Return the page of a report."""
    return _render("page.html", report, style=Markup(_read("page.css")))


def load_tables() -> dict[str, dict[str, Any]]:
    """Return the tables of `report.toml`: what a report says of failures and states."""
    return tomllib.loads(_read("report.toml"))


def _render(template: str, report: Report, **context: object) -> str:
    is_page = template.endswith(".html")
    environment = Environment(autoescape=is_page, trim_blocks=True, lstrip_blocks=True, undefined=StrictUndefined)
    environment.filters |= _FILTERS
    page = environment.from_string(_read(template))
    return page.render(report=report, tables=load_tables(), **context)


def _read(name: str) -> str:
    return resources.files(__package__).joinpath(name).read_text("utf-8")
