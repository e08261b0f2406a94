"""Rules in mkdocs.yml, in the front matter of a page or in a YAML file: parsing, validation and targets.

Errors name the file and the number of each invalid rule. A rule that can never match, or opens nothing, is an error.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from fnmatch import fnmatchcase
from pathlib import Path
from string import hexdigits
from typing import Annotated, Any, TypeVar

import msgspec
import yaml
from msgspec.structs import replace

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.lookup import PageName, SectionIndex, SectionRef, match_pattern
from mkdocs_roaming.manifest.models import Manifest, PageEntry, RuleCondition, RuleEntry
from mkdocs_roaming.manifest.sections import github_slug
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.text.tokenizer import parse_words

MAX_OPENED = 64
"""Maximum number of sections that one rule opens. An answer has room for a few of them."""

_MAX_PROBLEMS = 10
_MAX_SIMILAR = 3
_SIMILARITY_OF_ANCHORS = 0.4
_SIMILARITY_OF_PAGES = 0.5
_GLOB = frozenset("*?[")
_ID_CHARS = 8
_YAML_ERRORS = (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError)
"""What PyYAML raises for invalid YAML."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class ParsedRule:
    """A valid rule whose pages and sections are not resolved yet."""

    where: str
    """The file and the number of the rule."""
    open: tuple[str, ...]
    name: str
    when: RuleCondition
    """Its condition, with patterns instead of the ids of pages."""
    page: str | None
    """The source of the page whose front matter has the rule."""


@dataclass(frozen=True, slots=True)
class RuleSet:
    """The rules of a site."""

    rules: tuple[ParsedRule, ...] = ()
    lenient: bool = False
    """Skip rules without a target instead of failing: in translations some pages and sections are missing."""


NO_RULES = RuleSet()


def load_rules(
    options: PublishOptions, config_file: Path, front_matter: Mapping[str, object], *, lenient: bool = False
) -> RuleSet:
    """Return the rules of the options and those of the pages' front matter.

    Args:
        options: The options; `rules` may be the path of a YAML file: a list of rules, or a mapping with this key.
        config_file: The file of the options, for messages and relative paths.
        front_matter: Values of the key `roaming` by the sources of their pages.
        lenient: See `RuleSet`.

    Raises:
        PublishError: The file of rules cannot be read or a rule is invalid.
    """
    data = options.rules
    where = config_file.name
    if isinstance(data, str):
        where = str(config_file.parent / data)
        data = _read_rules_file(config_file.parent / data)
    rules = [_parse_rule(rule, f"{where}, rule {number}") for number, rule in enumerate(data, 1)]
    for source, value in front_matter.items():
        own = _decode(value, _FrontMatter, f"{source}: roaming").rules
        rules += [_parse_rule(rule, f"{source}, rule {number}", source) for number, rule in enumerate(own, 1)]
    return RuleSet(tuple(rules), lenient)


def _read_rules_file(file: Path) -> list[Any]:
    try:
        data = yaml.safe_load(file.read_text("utf-8-sig"))
    except OSError as error:
        raise PublishError(f"{file}: cannot be read ({error.strerror}). Name a YAML file of rules") from None
    except _YAML_ERRORS as error:
        raise PublishError(f"{file}: invalid YAML ({' '.join(str(error).split())})") from None
    return _decode(data if isinstance(data, dict) else {"rules": data}, _RulesFile, str(file)).rules


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
    targets = _Targets(SectionIndex(manifest))
    entries: list[RuleEntry] = []
    problems: list[str] = []
    for rule in rules.rules:
        resolved = _resolve(rule, targets, warn)
        if isinstance(resolved, RuleEntry):
            entries.append(resolved)
        else:
            problems += [f"{rule.where}: {problem}" for problem in resolved]
    if problems and not rules.lenient:
        message = "; ".join(problems[:_MAX_PROBLEMS])
        if len(problems) > _MAX_PROBLEMS:
            message += f" (and {len(problems) - _MAX_PROBLEMS} more)"
        raise PublishError(message)
    for problem in problems:
        note(f"{problem}; the rule is skipped")
    return replace(manifest, rules=tuple(entries))


# Validation

_Text = Annotated[str, msgspec.Meta(min_length=1)]
_Texts = _Text | Annotated[list[_Text], msgspec.Meta(min_length=1)] | None
"""A list with one item may be written without brackets."""


class _When(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    any: _Texts = None
    all: _Texts = None
    page: _Texts = None
    always: bool = False


class _Rule(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    when: _When = _When()
    open: _Texts = None
    name: str | None = None


class _FrontMatter(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rules: list[Any] = []


class _RulesFile(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    rules: list[Any]


_FORMAT = (
    "`rules` is a list of mappings with the keys `name`, `when` and `open`; the keys of `when` are `any`, `all`, `page`"
    " and `always`; quote values such as on or 3.10"
)


def _decode(value: object, kind: type[T], where: str) -> T:
    try:
        return msgspec.convert(value, kind)
    except (msgspec.ValidationError, UnicodeEncodeError) as error:
        message = str(error).replace("Object contains unknown field", "unknown key")
        problem, _, path = message.partition(" - at `$")
        place = f"{where}: {path.strip('.`')}".removesuffix(": ")
        raise PublishError(f"{place}: {problem}. {_FORMAT}") from None


def _parse_rule(data: object, where: str, page: str | None = None) -> ParsedRule:
    rule = _decode(data, _Rule, where)
    when = rule.when
    if when.always == bool(when.any or when.all or when.page):
        raise PublishError(f"{where}: `when` must contain `any`, `all` or `page`, or only `always: true`")
    if rule.open is None and page is None:
        raise PublishError(f"{where}: `open` is missing; name the sections to open")
    condition = RuleCondition(
        any=tuple(map(_normalize_phrase, _as_tuple(when.any))),
        all=tuple(map(_normalize_phrase, _as_tuple(when.all))),
        pages=_as_tuple(when.page),
        always=when.always,
    )
    name = " ".join((rule.name or "").split())
    return ParsedRule(where, _as_tuple(rule.open) or (page or "",), name, condition, page)


def _as_tuple(texts: _Texts) -> tuple[str, ...]:
    if texts is None:
        return ()
    if isinstance(texts, str):
        return (texts.strip(),)
    return tuple(text.strip() for text in texts)


def _normalize_phrase(text: str) -> str:
    """Return a phrase in NFKC with one space between words."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


# Targets


def _resolve(rule: ParsedRule, targets: _Targets, warn: Callable[[str], None]) -> RuleEntry | list[str]:
    """Return the published rule, or its problems."""
    if rule.page is not None and targets.page(rule.page) is None:
        return ["the rule is on a page that is not published; publish the page, or move the rule to mkdocs.yml"]
    problems = []
    language = targets.sections.manifest.site.language
    for phrase in (*rule.when.any, *rule.when.all):
        words = [word for word in parse_words(phrase, language) if any(word.runs)]
        if not words:
            problems.append(f"“{phrase}” can never match, because it contains no word; add one")
        elif all(word.stop for word in words):
            reason = "most questions contain these words; add a specific word"
            problems.append(f"“{phrase}” can never match, because {reason}")
    pages: dict[str, None] = {}
    for glob in rule.when.pages:
        matches = targets.match_pages(glob)
        pages |= {page.id: None for page in matches}
        if not matches:
            problems.append(f"`page` “{glob}” matches no published page{targets.suggest(glob)}")
    ids: dict[str, None] = {}
    for target in rule.open:
        address = target
        if address.startswith("#"):  # a section of the page with the rule in its front matter
            address = (rule.page or "") + address
        sections = _find_opened(rule.where, address, targets, warn)
        ids |= {section.id: None for section in sections}
        if not sections:
            problems.append(_missing_target(address, targets))
    if len(ids) > MAX_OPENED:
        problems.append(f"opens {len(ids)} sections, but an answer has room for only a few; use a narrower glob")
    return problems or RuleEntry(replace(rule.when, pages=tuple(pages)), tuple(ids), rule.name)


def _find_opened(where: str, address: str, targets: _Targets, warn: Callable[[str], None]) -> Sequence[SectionRef]:
    place = targets.sections.resolve(address)
    if place is None:
        return targets.match_sections(address) if _is_glob(address) else []
    is_id = len(address) == _ID_CHARS and set(address) <= set(hexdigits.lower())
    if is_id and place.id != address:
        breadcrumb = " › ".join(targets.sections.breadcrumb(place))
        warn(f"{where}: opens {address}, an old id of {place.id} ({breadcrumb}); use the new one")
    return [place]


def _missing_target(address: str, targets: _Targets) -> str:
    if _is_glob(address):
        return f"opens “{address}”, a glob that matches nothing"
    if targets.page(address):
        return f"opens “{address}”, but the page has no section with that anchor{targets.suggest(address)}"
    if targets.sections.get_group(address):
        return f"opens “{address}”, a group of the nav; name its pages"
    return f"opens “{address}”, which is not a published section{targets.suggest(address)}"


def _is_glob(text: str) -> bool:
    return bool(_GLOB & set(text))


class _Targets(msgspec.Struct, frozen=True):
    """What rules can name: sections by address, pages by source, path, URL or published Markdown."""

    sections: SectionIndex

    def page(self, address: str) -> PageEntry | None:
        """Return the page of an address; an anchor is ignored."""
        place = self.sections.resolve(address.partition("#")[0])
        return place.page if place else None

    def match_pages(self, glob: str) -> list[PageEntry]:
        """Return the pages that a glob or an address matches."""
        if page := self.page(glob):
            return [page]
        pages = self.sections.manifest.pages
        return [page for page in pages if match_pattern(glob, PageName.from_entry(page))]

    def match_sections(self, glob: str) -> list[SectionRef]:
        """Return the top sections of the pages that a glob matches; after a `#`, sections by their anchor."""
        page_glob, hash_sign, anchor_glob = glob.partition("#")
        tops = [SectionRef(page, 0) for page in self.match_pages(page_glob)]
        if not hash_sign:
            return tops
        places = []
        for top in tops:
            places += [top, *self.sections.descendants(top)]
        return [place for place in places if fnmatchcase(_anchor(place), anchor_glob)]

    def suggest(self, address: str) -> str:
        """Return similar addresses as the end of a message: anchors of the page if it exists, else pages."""
        if _is_glob(address):
            return ""
        name, hash_sign, anchor = address.partition("#")
        page = self.page(name)
        if hash_sign and page:
            anchors = [_anchor(SectionRef(page, position)) for position in range(1, len(page.sections))]
            matches = get_close_matches(anchor, anchors, _MAX_SIMILAR, _SIMILARITY_OF_ANCHORS)
            similar = [f"{name}#{match}" for match in matches]
        else:
            names = [page.source or page.path for page in self.sections.manifest.pages]
            similar = get_close_matches(name.lstrip("/"), filter(None, names), _MAX_SIMILAR, _SIMILARITY_OF_PAGES)
        return f"; nearest: {', '.join(similar)}" if similar else ""


def _anchor(place: SectionRef) -> str:
    return place.section.anchor or github_slug(place.section.title)
