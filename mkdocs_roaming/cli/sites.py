"""Options and helpers of commands that open a site. A configuration is loaded if there is one: that takes a while."""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial, wraps
from pathlib import Path
from typing import Any, cast

import click
from msgspec import to_builtins

from mkdocs_roaming.cli.common import F, combine_options, warn
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.index_cache import IndexCache
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import SiteInfo, SiteTarget
from mkdocs_roaming.manifest.lookup import Scope, SectionRef
from mkdocs_roaming.settings import CONFIG_FILE


def scope_options(command: F) -> F:
    """Add the options for the visible part of a site to a command, which gets them as `scope`."""

    @wraps(command)
    def with_scope(*args: Any, tags: tuple[str, ...], paths: tuple[str, ...], **given: Any) -> Any:
        return command(*args, scope=Scope(tags, paths), **given)

    add_options = combine_options(
        click.option("--tag", "tags", multiple=True, help="Only pages with this tag. Repeatable: one of the tags."),
        click.option(
            "--path",
            "paths",
            multiple=True,
            metavar="PATTERN",
            help="Only pages with this path, such as guide/**. Repeatable: one of the paths.",
        ),
    )
    return cast(F, add_options(with_scope))


def open_lib(lib: str, *, trust_rules: bool = False, scope: Scope | None = None) -> Library:
    """Open the single site that LIB names, or the part of it in a scope."""
    return SiteTarget(lib, trust_rules=trust_rules, scope=scope).library


def find_section(library: Library, address: str) -> SectionRef:
    """Return the section with an id, alias, path or URL.

    Raises:
        UsageError: There is no such section.
    """
    section = library.sections.find(address)
    if section is None:
        raise UsageError(f"no section {address!r}; `roaming outline` and `roaming search` list ids")
    return section


def site_as_json(site: SiteInfo | None) -> dict[str, Any]:
    """Return the JSON fields that name a site of a store, and its package; none for a single site."""
    fields = {"site": site.key, "crawled": site.crawled, "package": to_builtins(site.package)} if site else {}
    return {name: value for name, value in fields.items() if value is not None}


def search_factory(config: Path | None) -> Callable[[Library], Search]:
    """Return the constructor of the configured search; the first fallback to lexical search prints a warning."""
    if config is None and not Path(CONFIG_FILE).is_file():
        return partial(Search, cache=IndexCache.from_environment(os.environ))
    from mkdocs_roaming.config import load_settings  # imports anyio

    return load_settings(config).search_factory(os.environ, warn, IndexCache.from_environment(os.environ))
