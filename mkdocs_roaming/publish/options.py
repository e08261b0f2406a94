"""The options for publishing: the `roaming` block of a site's configuration.

The MkDocs plugin, `roaming index`, `roaming build` and `publish_site` have the same options, which are declared here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.models import MIN_OUTLINE_BUDGET, OUTLINE_BUDGET

MAX_SECTION_FILES = 5_000
"""Maximum number of section files with `section_files: auto`; larger sites get none."""


class PublishOptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
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


class OptionError(UsageError):
    """An option for publishing is invalid.

    Attributes:
        option: Name of the option.
        problem: What is wrong with it, and how to fix it.
    """

    def __init__(self, option: str, problem: str) -> None:
        """Set the message."""
        super().__init__(f"{option}: {problem}")
        self.option, self.problem = option, problem


def parse_options(block: Mapping[str, object]) -> PublishOptions:
    """Parse a `roaming` block. Options without a value have their default; patterns may be lines, as in `.gitignore`.

    Raises:
        OptionError: An option is unknown, or its value has a wrong type or range.
    """
    given = {name: value for name, value in block.items() if value is not None}
    known = PublishOptions.__struct_fields__
    for name in given:
        if name not in known:
            from difflib import get_close_matches  # not needed for valid options

            nearest = get_close_matches(str(name), known, 1, 0.7)
            hint = f"did you mean `{nearest[0]}`? " if nearest else ""
            raise OptionError(str(name), f"unknown option; {hint}Available options: {', '.join(known)}")
    for name in ("include", "exclude"):
        if isinstance(lines := given.get(name), str):
            given[name] = [line for line in lines.splitlines() if line.strip() and not line.startswith("#")]
    try:
        return msgspec.convert(given, PublishOptions)
    except (msgspec.ValidationError, OverflowError) as error:
        name = _find_invalid(given, str(error))
        raise OptionError(name, f"expected {_describe(name)}, got {given[name]!r}") from None


def _find_invalid(given: Mapping[str, object], message: str) -> str:
    """Return the option that a message of msgspec is about: its path is such as `$.exclude[0]`."""
    path = message.rpartition("`$.")[2]
    return max((name for name in given if path.startswith(name)), key=len)


def _describe(name: str) -> str:
    """Return the values that an option accepts, for an error message."""
    from msgspec import inspect  # as above

    def describe(kind: inspect.Type) -> str:
        match kind:
            case inspect.BoolType():
                return "true or false"
            case inspect.IntType(ge=least):
                return f"a number of {least} or more"
            case inspect.LiteralType(values=values):
                return " or ".join(map(str, values))
            case inspect.UnionType(types=types):
                return " or ".join(describe(one) for one in types if not isinstance(one, inspect.NoneType))
            case inspect.DictType(value_type=item):
                return "a mapping of texts to texts" if isinstance(item, inspect.StrType) else "a mapping"
            case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
                return "a list of texts" if isinstance(item, inspect.StrType) else "a list"
        return "a text"

    (kind,) = inspect.multi_type_info([PublishOptions])
    assert isinstance(kind, inspect.StructType)
    return describe(next(field.type for field in kind.fields if field.name == name))
