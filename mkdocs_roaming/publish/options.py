"""The options for publishing: the `roaming` block of a site's configuration.

The MkDocs plugin, `roaming index`, `roaming build` and `publish_site` have the same options, which are declared here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal
from urllib.parse import urljoin

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
    include: Annotated[
        tuple[str, ...], Meta(description="Publish only matching pages.", extra={"metavar": "PATTERN"})
    ] = ()
    exclude: Annotated[
        tuple[str, ...], Meta(description="Leave out matching pages.", extra={"metavar": "PATTERN"})
    ] = ()
    description: Annotated[str | None, Meta(description="One sentence about the site, for llms.txt.")] = None
    llms_txt: Annotated[
        Literal["preamble"] | bool,
        Meta(description="Write llms.txt; preamble: below the text of an llms.txt that exists."),
    ] = True
    overwrite: Annotated[bool, Meta(description="Overwrite files that something else wrote.")] = False
    llms_full: Annotated[bool, Meta(description="Write llms-full.txt.")] = True
    section_files: Annotated[
        Literal["auto"] | bool, Meta(description="Write one file per section; auto: for up to 5,000 sections.")
    ] = "auto"
    agent_skill: Annotated[
        bool, Meta(description="Write a skill that tells agents how to use the site, and the files below .well-known.")
    ] = True
    outline_tokens: Annotated[
        int, Meta(ge=MIN_OUTLINE_BUDGET, description="Size of the outline in estimated tokens.")
    ] = OUTLINE_BUDGET
    previous: Annotated[
        str | None,
        Meta(description="Previous manifest: ids of renamed sections remain valid.", extra={"metavar": "PATH_OR_URL"}),
    ] = None
    lint: Any = "off"
    """Level or table; `lint.runner` parses it."""
    cache: bool = True
    """Whether conversions are cached in `.cache/roaming/`."""
    rules: Annotated[
        list[Any] | str,
        Meta(description="YAML file with rules: sections to open for certain questions.", extra={"metavar": "FILE"}),
    ] = []
    """Or a list of rules; `publish.rules` parses them."""
    descriptions: Annotated[
        str | None,
        Meta(description="File with descriptions of sections, from `roaming describe`.", extra={"metavar": "FILE"}),
    ] = None
    widget: Annotated[Any, Meta(description="Add the widget to every page; without an endpoint it finds sections.")] = (
        False
    )
    """Or its options; `publish.elements.widget` parses them."""
    page_menu: Annotated[Any, Meta(description="Add a menu to every page: copy as Markdown, open in Claude.")] = False
    """Or its options; `publish.elements.menu` parses them."""
    mcp: Annotated[str, Meta(pattern=r"^https?://[^/\s]+\S*$")] | bool | None = None
    """URL of the site's MCP server; true: that of the function of `roaming function`, at `mcp` below the site's URL;
    None: that of the widget's endpoint, if there is one."""
    similar_pages: bool = True
    """Whether the 404 page links to pages at similar addresses."""
    search: Annotated[
        Literal["lexical", "hybrid"],
        Meta(description="hybrid: also publish embeddings, of the model of [embeddings] or one in the process."),
    ] = "lexical"
    embeddings: dict[str, Any] = {}
    """The embedding model; `embeddings.config` parses the options."""
    serve_model: str | None = None
    """Model for questions during `mkdocs serve`."""
    classes: dict[str, str] = {}
    """Roles of the site's own CSS classes."""

    def find_mcp_url(self, site_url: str = "", endpoint: str = "") -> str:
        """Return the URL of the site's MCP server; empty without one, relative without the site's URL.

        Args:
            site_url: URL of the site.
            endpoint: URL of the widget's endpoint, which offers MCP by default; may be relative to the site.
        """
        if self.mcp is None and endpoint:
            return urljoin(site_url, endpoint).rstrip("/") + "/mcp"
        if not self.mcp:
            return ""
        return urljoin(site_url, "mcp" if self.mcp is True else self.mcp)


def parse_options(block: Mapping[str, object], where: str = "") -> PublishOptions:
    """Parse a `roaming` block. Options without a value have their default; patterns may be lines, as in `.gitignore`.

    Raises:
        SettingError: An option is unknown, or its value has a wrong type or range.
    """
    given = {name: value for name, value in block.items() if value is not None}
    for name in ("include", "exclude"):
        patterns = given.get(name)
        if isinstance(patterns, str):
            lines = filter(str.strip, patterns.splitlines())
            given[name] = [line for line in lines if not line.startswith("#")]
    return decode_table(given, PublishOptions, where)
