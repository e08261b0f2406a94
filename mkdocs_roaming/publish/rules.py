"""Rules in mkdocs.yml, in the front matter of a page or in a YAML file: parsing, validation and targets.

Errors name the file and the line of each invalid rule. A rule that can never match, or opens nothing, is an error.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any
from urllib.parse import unquote

import yaml
from msgspec.structs import replace

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import (
    Manifest,
    PageEntry,
    RuleCondition,
    RuleEntry,
    short_markdown_path,
    url_to_path,
)
from mkdocs_roaming.manifest.sections import github_slug
from mkdocs_roaming.text.tokenizer import parse_words

MODES = ("each", "pool")

MAX_OPENED = 64
"""Maximum number of sections that one rule opens. An answer has room for a few of them."""

_PLUGIN = "roaming"
_MAX_INHERITED = 10
_MAX_PROBLEMS = 10
_MAX_QUOTE_CHARS = 80
_YAML_ERRORS = (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError)  # PyYAML raises them all


@dataclass(frozen=True, slots=True)
class ParsedRule:
    """A valid rule whose pages and sections are not resolved yet."""

    where: str
    """The file and line of the rule."""
    open: tuple[str, ...]
    name: str = ""
    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    always: bool = False
    page: str | None = None
    """The source of the page whose front matter has the rule."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of a site."""

    rules: tuple[ParsedRule, ...] = ()
    mode: str = "each"
    lenient: bool = False
    """Skip rules without a target instead of failing: in translations some pages and sections are missing."""


def read_config_rules(rules: object, file: Path | None) -> tuple[ParsedRule, ...]:
    """Parse the plugin's rules in mkdocs.yml.

    Args:
        rules: The value of the option.
        file: mkdocs.yml; None if the configuration was created without a file.

    Raises:
        PublishError: A rule is invalid.
    """
    name, lines = _locate_config_rules(file) if file else ("mkdocs.yml", [])
    return _parse_rules(rules, name, lines)


def read_page_rules(front_matter: object, source: str, text: str, file: Path | None = None) -> tuple[ParsedRule, ...]:
    """Parse the rules in a page's front matter.

    Args:
        front_matter: The value of the key `roaming`.
        source: The page's source path below the docs folder.
        text: The source of the page with its front matter.
        file: The source file; None for a generated page.

    Raises:
        PublishError: A rule is invalid.
    """
    name = _display_path(file) if file else source
    if not isinstance(front_matter, Mapping) or set(front_matter) - {"rules"}:
        raise PublishError(f"{name}: `roaming` in front matter must be a mapping with the key `rules`, a list")
    found = _FRONT_MATTER.match(text)
    located = _get(_get(_load_tolerantly(found[0]), _PLUGIN), "rules") if found else None
    return _parse_rules(front_matter.get("rules", []), name, _item_lines(located), page=source)


def read_rules_file(file: Path) -> RuleSet:
    """Parse a YAML file of rules: a list, or a mapping with the plugin's keys `rules` and `rules_mode`.

    Raises:
        PublishError: The file cannot be read or a rule is invalid.
    """
    try:
        data = yaml.load(file.read_text("utf-8-sig"), _LineLoader)
    except OSError as error:
        raise PublishError(f"{file}: cannot be read ({error.strerror}). Name a YAML file of rules") from None
    except _YAML_ERRORS as error:
        raise PublishError(f"{file}: invalid YAML ({' '.join(str(error).split())})") from None
    options = data if isinstance(data, dict) else {"rules": data}
    if unknown := [str(key) for key in options if key not in ("rules", "rules_mode")]:
        raise PublishError(f"{file}: unknown key {_quote(unknown[0])}. Available keys: `rules` and `rules_mode`")
    mode = options.get("rules_mode", "each")
    if mode not in MODES:
        raise PublishError(f"{file}: rules_mode is {mode!r}; set it to each or pool")
    rules = options.get("rules")
    return RuleSet(_parse_rules(rules, str(file), _item_lines(rules)), mode)


def resolve_rules(
    manifest: Manifest, rules: RuleSet, warn: Callable[[str], None], note: Callable[[str], None]
) -> Manifest:
    """Add rules to a manifest.

    Args:
        manifest: The manifest of the site.
        rules: The rules to resolve.
        warn: Receives one line for each id that is only an alias.
        note: Receives one line for each skipped rule of a lenient set.

    Raises:
        PublishError: A rule is invalid; names all invalid rules.
    """
    targets = _Targets(manifest)
    entries: list[RuleEntry] = []
    problems: list[str] = []
    for rule in rules.rules:
        resolved = _resolve(rule, targets, warn)
        if isinstance(resolved, RuleEntry):
            entries.append(resolved)
        else:
            problems += [f"{rule.where}: {problem}" for problem in resolved]
    if problems and not rules.lenient:
        raise _make_error(problems)
    for problem in problems:
        note(f"{problem}; the rule is skipped")
    return replace(manifest, rules=tuple(entries), rules_mode="pool" if entries and rules.mode == "pool" else "each")


# Validation


class _InvalidRuleError(Exception):
    """A rule is invalid."""


def _parse_rules(data: object, name: str, lines: Sequence[int], page: str | None = None) -> tuple[ParsedRule, ...]:
    """Parse a list of rules of a file; `lines` are their lines, if they are known."""
    if not isinstance(data, list):
        raise PublishError(f"{name}: `rules` is {_describe(data)}, not a list of rules")
    problems: list[str] = []
    rules: list[ParsedRule] = []
    for index, item in enumerate(data):
        # A hook may have created the rules: then they have no lines.
        where = f"{name}:{lines[index]}" if len(lines) == len(data) else f"{name}, rule {index + 1}"
        try:
            rules.append(_parse_rule(item, where, page))
        except _InvalidRuleError as error:
            problems.append(f"{where}: {error}")
    if problems:
        raise _make_error(problems)
    return tuple(rules)


def _parse_rule(item: object, where: str, page: str | None) -> ParsedRule:
    rule = _check_mapping(item, "a rule", ("name", "when", "open"))
    when = _check_mapping(rule.get("when") or {}, "`when`", ("any", "all", "page", "always"))
    if not when:
        raise _InvalidRuleError("`when` is empty; set `any`, `all` or `page`, or `always: true`")
    if "always" in when and (when["always"] is not True or len(when) > 1):
        raise _InvalidRuleError("`always` must be `true` and the only key of `when`; fix or remove it")
    name = rule.get("name")
    if name is not None and not isinstance(name, str):
        raise _InvalidRuleError(f"`name` is {_describe(name)}, not a string; put it in quotes")
    if "open" not in rule and page is None:
        raise _InvalidRuleError("`open` is missing; name the sections to open")
    return ParsedRule(
        where=where,
        open=_parse_strings(rule, "open") or (page or "",),
        name=" ".join((name or "").split()),
        any=tuple(map(_normalize_phrase, _parse_strings(when, "any"))),
        all=tuple(map(_normalize_phrase, _parse_strings(when, "all"))),
        pages=_parse_strings(when, "page"),
        always="always" in when,
        page=page,
    )


def _check_mapping(value: object, name: str, keys: Sequence[str]) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise _InvalidRuleError(f"{name} is {_describe(value)}, not a mapping of {_enumerate(keys)}")
    for key in value:
        if key not in keys:
            nearest = get_close_matches(str(key), keys, 1)
            fix = f"did you mean `{nearest[0]}`?" if nearest else f"available keys are {_enumerate(keys)}"
            raise _InvalidRuleError(f"{name} has an unknown key {_quote(str(key))}; {fix}")
    return value


def _parse_strings(data: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Return a list of strings; a single string becomes a list, a missing key an empty one."""
    if key not in data:
        return ()
    value = data[key]
    strings: list[str] = []
    for item in value if isinstance(value, list) else [value]:
        if not isinstance(item, str):
            fix = "; put it in quotes" if isinstance(item, (bool, int, float)) or hasattr(item, "isoformat") else ""
            raise _InvalidRuleError(f"`{key}` contains {_describe(item)}, not a string{fix}")
        if not item.strip():
            raise _InvalidRuleError(f"`{key}` contains an empty string; fill it in or remove it")
        strings.append(item.strip())
    if not strings:
        raise _InvalidRuleError(f"`{key}` is empty; fill it in or remove it")
    return tuple(strings)


def _normalize_phrase(text: str) -> str:
    """Return a phrase in NFKC with one space between words."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def _describe(value: object) -> str:
    match value:
        case None:
            return "empty"
        case bool():
            return f"{str(value).lower()} (YAML reads yes, no, on and off as booleans)"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the string {_quote(value)}"
        case Mapping():
            return "a mapping"
        case list():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def _enumerate(keys: Iterable[str]) -> str:
    *first, last = (f"`{key}`" for key in keys)
    return f"{', '.join(first)} and {last}" if first else last


def _make_error(problems: Sequence[str]) -> PublishError:
    """Return the error for a list of problems, as one line."""
    more = f" (and {len(problems) - _MAX_PROBLEMS} more)" if len(problems) > _MAX_PROBLEMS else ""
    return PublishError("; ".join(problems[:_MAX_PROBLEMS]) + more)


def _quote(text: str) -> str:
    """Return a text in quotes for a message, truncated if it is long."""
    return f"“{text if len(text) <= _MAX_QUOTE_CHARS else text[:_MAX_QUOTE_CHARS] + '…'}”"


# Locations


class _LocatedList(list[Any]):
    """A list of a YAML file, with the lines of its items."""

    lines: tuple[int, ...] = ()


class _LineLoader(yaml.SafeLoader):
    """Loads lists with the lines of their items."""

    def construct_located_list(self, node: yaml.SequenceNode) -> _LocatedList:
        items = _LocatedList(self.construct_sequence(node, deep=True))
        items.lines = tuple(item.start_mark.line + 1 for item in node.value)
        return items


_LineLoader.add_constructor("tag:yaml.org,2002:seq", _LineLoader.construct_located_list)


class _TolerantLoader(_LineLoader):
    """Loads None for values with the tags that MkDocs adds to YAML, such as `!ENV`."""


_TolerantLoader.add_multi_constructor("", lambda loader, suffix, node: None)


def _locate_config_rules(file: Path) -> tuple[str, Sequence[int]]:
    """Return the file that has the plugin's rules, mkdocs.yml or one that it inherits from, and their lines."""
    current = file
    for _ in range(_MAX_INHERITED):
        try:
            config = _load_tolerantly(current.read_text("utf-8-sig"))
        except (OSError, ValueError):
            break
        plugins = _get(config, "plugins")
        for plugin in plugins if isinstance(plugins, list) else [plugins]:
            if lines := _item_lines(_get(_get(plugin, _PLUGIN), "rules")):
                return _display_path(current), lines
        inherited = _get(config, "INHERIT")
        if not isinstance(inherited, str):
            break
        current = current.parent / inherited
    return _display_path(file), ()


def _load_tolerantly(text: str) -> object:
    """Load the first document of a text, or return None if it is invalid."""
    try:
        return _TolerantLoader(text).get_data()
    except _YAML_ERRORS:
        return None


def _get(data: object, key: str) -> object:
    return data.get(key) if isinstance(data, Mapping) else None


def _item_lines(rules: object) -> Sequence[int]:
    return rules.lines if isinstance(rules, _LocatedList) else ()


def _display_path(file: Path) -> str:
    """Return a file's path relative to the working directory if it is below it."""
    try:
        return file.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(file)


_FRONT_MATTER = re.compile(r"\A\ufeff?---[ \t]*\r?\n.*?\r?\n(?=(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z))", re.DOTALL)


# Targets


def _resolve(rule: ParsedRule, targets: _Targets, warn: Callable[[str], None]) -> RuleEntry | list[str]:
    """Return the published rule, or its problems."""
    if rule.page is not None and targets.page(rule.page) is None:
        return ["the rule is on a page that is not published; publish the page, or move the rule to mkdocs.yml"]
    problems = [*_check_phrases(rule, targets.language)]
    pages: dict[str, None] = {}
    for glob in rule.pages:
        matches = targets.match_pages(glob)
        pages |= {page.id: None for page in matches}
        if not matches:
            problems.append(f"`page` {_quote(glob)} matches no published page{targets.suggest(glob)}")
    ids: dict[str, None] = {}
    for address in rule.open:
        # In front matter `#anchor` is a section of that page.
        address = (rule.page or "") + address if address.startswith("#") else address
        sections = _find_opened(rule.where, address, targets, warn)
        ids |= {section.id: None for section in sections}
        if not sections:
            problems.append(_missing_target(address, targets))
    if len(ids) > MAX_OPENED:
        problems.append(f"opens {len(ids)} sections, but an answer has room for only a few; use a narrower glob")
    condition = RuleCondition(rule.any, rule.all, tuple(pages), rule.always)
    return problems or RuleEntry(condition, tuple(ids), rule.name)


def _check_phrases(rule: ParsedRule, language: str) -> Iterator[str]:
    """Yield a problem for each phrase that never matches: it has no words, or only words of most questions."""
    for phrase in (*rule.any, *rule.all):
        words = [word for word in parse_words(phrase, language) if any(word.runs)]
        if not words:
            yield f"{_quote(phrase)} can never match, because it contains no word; add one"
        elif all(word.stop for word in words):
            yield f"{_quote(phrase)} can never match, because most questions contain these words; add a specific word"


def _find_opened(where: str, address: str, targets: _Targets, warn: Callable[[str], None]) -> Sequence[SectionRef]:
    place = targets.section(address)
    if place is None:
        return targets.match_sections(address) if _is_glob(address) else []
    if _ID.fullmatch(address) and place.id != address:
        breadcrumb = " › ".join(targets.sections.breadcrumb(place))
        warn(f"{where}: opens {address}, an old id of {place.id} ({breadcrumb}); use the new one")
    return [place]


def _missing_target(address: str, targets: _Targets) -> str:
    if _is_glob(address):
        return f"opens {_quote(address)}, a glob that matches nothing"
    if targets.page(address):
        return f"opens {_quote(address)}, but the page has no section with that anchor{targets.suggest(address)}"
    if targets.sections.get_group(address):
        return f"opens {_quote(address)}, a group of the nav; name its pages"
    return f"opens {_quote(address)}, which is not a published section{targets.suggest(address)}"


def _is_glob(text: str) -> bool:
    return bool(_GLOB & set(text))


_GLOB = frozenset("*?[")
_ID = re.compile(r"[0-9a-f]{8}")


class _Targets:
    """What rules can name: sections by address, pages by source, path, URL or published Markdown."""

    def __init__(self, manifest: Manifest) -> None:
        self.sections = SectionIndex(manifest)
        self.language = manifest.site.language
        self._site_url = manifest.site.url
        self._names = {page.path: _page_names(page) for page in manifest.pages}
        self._by_name: dict[str, PageEntry] = {}
        for page in manifest.pages:
            for name in self._names[page.path]:
                self._by_name.setdefault(name, page)

    def section(self, address: str) -> SectionRef | None:
        """Return the section of an address."""
        if place := self.sections.resolve(address):
            return place
        page = self.page(address)
        return self.sections.find_anchor(page, unquote(address.partition("#")[2])) if page else None

    def page(self, address: str) -> PageEntry | None:
        """Return the page of an address; an anchor is ignored."""
        name = address.partition("#")[0]
        path = url_to_path(self._site_url, name) if "://" in name else unquote(name)
        return None if path is None else self._by_name.get(path.lstrip("/")) or self.sections.get_page(path)

    def match_pages(self, glob: str) -> list[PageEntry]:
        """Return the pages that a glob or an address matches."""
        if page := self.page(glob):
            return [page]
        glob = glob.lstrip("/")
        return [
            page
            for page in self.sections.manifest.pages
            if any(fnmatchcase(name, glob) for name in self._names[page.path])
        ]

    def match_sections(self, glob: str) -> list[SectionRef]:
        """Return the top sections of the pages that a glob matches; after a `#`, sections by their anchor."""
        page_glob, hash_sign, anchor_glob = glob.partition("#")
        tops = [SectionRef(page, 0) for page in self.match_pages(page_glob)]
        if not hash_sign:
            return tops
        places = (place for top in tops for place in (top, *self.sections.descendants(top)))
        return [place for place in places if fnmatchcase(_anchor(place), anchor_glob)]

    def suggest(self, address: str) -> str:
        """Return similar addresses as the end of a message: anchors of the page if it exists, else pages."""
        if _is_glob(address):
            return ""
        name, hash_sign, anchor = address.partition("#")
        page = self.page(name)
        if hash_sign and page:
            anchors = [_anchor(SectionRef(page, position)) for position in range(1, len(page.sections))]
            similar = [f"{name}#{match}" for match in get_close_matches(anchor, anchors, 3, 0.4)]
        else:
            names = [page.source or page.path for page in self.sections.manifest.pages]
            similar = get_close_matches(name.lstrip("/"), [*filter(None, names)], 3, 0.5)
        return f"; nearest: {', '.join(similar)}" if similar else ""


def _anchor(place: SectionRef) -> str:
    return place.section.anchor or github_slug(place.section.title)


def _page_names(page: PageEntry) -> tuple[str, ...]:
    names = (page.source, page.path, page.path.rstrip("/"), short_markdown_path(page.path), page.markdown)
    return tuple(dict.fromkeys(name for name in names if name))
