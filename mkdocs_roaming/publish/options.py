"""The options for publishing: the `roaming` block of a site's configuration.

The MkDocs plugin, `roaming index`, `roaming build` and `publish_site` have the same options, which are declared here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from mkdocs_roaming.manifest.models import MIN_OUTLINE_BUDGET, OUTLINE_BUDGET
from mkdocs_roaming.settings import decode_table

MAX_SECTION_FILES = 5_000
"""Maximum number of section files with `section_files: auto`; larger sites get none."""


class PublishOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options; docs/reference/options.md describes them."""

    enabled: bool = True
    """Whether the site is published."""
    include: tuple[str, ...] = ()
    """Patterns of the pages to publish; all pages if there are none."""
    exclude: tuple[str, ...] = ()
    """Patterns of pages to leave out."""
    description: str | None = None
    """One sentence about the site, for llms.txt."""
    llms_txt: Literal["preamble"] | bool = True
    """Whether the list of pages is written to llms.txt; `preamble`: below the text of an llms.txt that exists."""
    overwrite: bool = False
    """Whether files that something else wrote are overwritten."""
    llms_full: bool = True
    """Whether llms-full.txt is written."""
    section_files: Literal["auto"] | bool = "auto"
    """Whether one file per section is written; `auto`: for up to 5,000 sections."""
    agent_skill: bool = True
    """Whether a skill is written that tells agents how to use the site, and the files below `.well-known`."""
    outline_tokens: Annotated[int, Meta(ge=MIN_OUTLINE_BUDGET)] = OUTLINE_BUDGET
    """Size of roaming/outline.md, in estimated tokens."""
    previous: str | None = None
    """Path or URL of the previous manifest: ids of renamed sections remain valid."""
    lint: Any = "off"
    """Level or table; `lint.runner` parses it."""
    cache: bool = True
    """Whether conversions are cached in `.cache/roaming/`."""
    rules: list[Any] | str = []
    """Rules, or the path of a YAML file with rules; `publish.rules` parses them."""
    widget: Any = False
    """Whether the widget is on every page, or its options; `publish.elements.widget` parses them."""
    page_menu: Any = False
    """Whether pages have a menu for their Markdown, or its options; `publish.elements.menu` parses them."""
    similar_pages: bool = True
    """Whether the 404 page links to pages at similar addresses."""
    search: Literal["lexical", "hybrid"] = "lexical"
    """`hybrid`: publish embeddings."""
    embeddings: dict[str, Any] = {}
    """The embedding model; `embeddings.client` parses the options."""
    serve_model: str | None = None
    """Model for questions during `mkdocs serve`."""
    classes: dict[str, str] = {}
    """Roles of the site's own CSS classes."""


def parse_options(block: Mapping[str, object], where: str = "") -> PublishOptions:
    """Parse a `roaming` block. Options without a value have their default; patterns may be lines, as in `.gitignore`.

    Raises:
        SettingError: An option is unknown, or its value has a wrong type or range.
    """
    given = {name: value for name, value in block.items() if value is not None}
    for name in ("include", "exclude"):
        if isinstance(lines := given.get(name), str):
            given[name] = [line for line in lines.splitlines() if line.strip() and not line.startswith("#")]
    return decode_table(given, PublishOptions, where)
