"""Rules as they are written in mkdocs.yml, in a page's front matter or in a file: read, and checked for their shape.

Whatever is wrong is told with the file and line where it stands.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.publish import rule_lines

MODES = ("each", "pool")


@dataclass(frozen=True, slots=True)
class WrittenRule:
    """A rule of the right shape, not yet resolved. `where` is its file and line, `page` the source it stands in."""

    where: str
    open: tuple[str, ...]
    name: str = ""
    any: tuple[str, ...] = ()
    all: tuple[str, ...] = ()
    pages: tuple[str, ...] = ()
    always: bool = False
    page: str | None = None


@dataclass(frozen=True, slots=True)
class RuleBook:
    """The rules of a site. With `lenient`, what fits nothing is left out and noted: another language's pages."""

    rules: tuple[WrittenRule, ...] = ()
    mode: str = "each"
    lenient: bool = False


def rules_of_config(given: object, file: Path | None) -> tuple[WrittenRule, ...]:
    """Read the rules that stand under the plugin in mkdocs.yml; raises PublishError, as all of these do."""
    name = rule_lines.shown(file) if file else "mkdocs.yml"
    return _read(given, lambda count: rule_lines.in_config(file, count), name)


def rules_of_page(given: object, source: str, text: str, file: Path | None = None) -> tuple[WrittenRule, ...]:
    """Read the rules in what a page's front matter says of `roaming`; a page that is generated has no file."""
    name = rule_lines.shown(file) if file else source
    if not isinstance(given, Mapping) or set(given) - {"rules"}:
        raise PublishError(f"{name}: `roaming` in front matter takes `rules`, a list; nothing else")
    rules = given.get("rules", [])
    return _read(rules, lambda count: rule_lines.in_front_matter(name, text, count), name, page=source)


def rules_of_file(file: Path) -> RuleBook:
    """Read a file of rules: a list, or the keys `rules` and `rules_mode` as they stand under the plugin."""
    import yaml

    try:
        text = file.read_text("utf-8-sig")
        data = yaml.safe_load(text)
    except OSError as error:
        raise PublishError(f"{file}: cannot be read ({error.strerror}); name a YAML file of rules") from None
    except (
        yaml.YAMLError,
        ValueError,
        LookupError,
        AttributeError,
        RecursionError,
    ) as error:  # PyYAML lets them all out
        raise PublishError(f"{file}: no YAML ({' '.join(str(error).split())})") from None
    book = data if isinstance(data, dict) else {"rules": data}
    if unknown := [str(key) for key in book if key not in ("rules", "rules_mode")]:
        raise PublishError(f"{file}: unknown key {quoted(unknown[0])}; a file of rules has `rules` and `rules_mode`")
    mode = book.get("rules_mode", "each")
    if mode not in MODES:
        raise PublishError(f"{file}: rules_mode is {mode!r}; set it to each or pool")
    return RuleBook(_read(book.get("rules"), lambda count: rule_lines.in_file(file, text, count), str(file)), mode)


def fault_of(faults: Sequence[str]) -> PublishError:
    """Give the error that tells these faults, on one line."""
    more = f" (and {len(faults) - _TOLD} more)" if len(faults) > _TOLD else ""
    return PublishError("; ".join(faults[:_TOLD]) + more)


_TOLD = 10


def quoted(text: str) -> str:
    """Give a text in quotation marks, cut where it is endless."""
    return f"“{text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}”"


_LONGEST = 80


# The shape of a rule


class _WrongError(Exception):
    """What is wrong with a rule, in words."""


def _read(
    given: object, places_of: Callable[[int], list[str]], name: str, *, page: str | None = None
) -> tuple[WrittenRule, ...]:
    if not isinstance(given, list):
        raise PublishError(f"{name}: `rules` is {_kind(given)}, not a list of rules")
    faults: list[str] = []
    rules: list[WrittenRule] = []
    for item, where in zip(given, places_of(len(given)), strict=True):
        try:
            rules.append(_rule(item, where, page))
        except _WrongError as error:
            faults.append(f"{where}: {error}")
    if faults:
        raise fault_of(faults)
    return tuple(rules)


def _rule(item: object, where: str, page: str | None) -> WrittenRule:
    rule = _mapping(item, "a rule", ("name", "when", "open"))
    when = _mapping(rule.get("when") or {}, "`when`", ("any", "all", "page", "always"))
    if not when:
        raise _WrongError("`when` is empty; give `any`, `all` or `page`, or `always: true`")
    if "always" in when and (when["always"] is not True or len(when) > 1):
        raise _WrongError("`always` is `true` and stands alone; give it so, or leave it out")
    name = rule.get("name")
    if name is not None and not isinstance(name, str):
        raise _WrongError(f"`name` is {_kind(name)}, not a text; put it in quotes")
    if "open" not in rule and page is None:
        raise _WrongError("`open` is missing; name the sections to open")
    return WrittenRule(
        where=where,
        open=_texts(rule, "open") or (page or "",),
        name=" ".join((name or "").split()),
        any=tuple(map(_phrase, _texts(when, "any"))),
        all=tuple(map(_phrase, _texts(when, "all"))),
        pages=_texts(when, "page"),
        always="always" in when,
        page=page,
    )


def _mapping(value: object, what: str, keys: Sequence[str]) -> Mapping[str, object]:
    if not isinstance(value, Mapping):
        raise _WrongError(f"{what} is {_kind(value)}, not a mapping of {_list(f'`{key}`' for key in keys)}")
    for key in value:
        if key not in keys:
            near = get_close_matches(str(key), keys, 1)
            cure = f"did you mean `{near[0]}`?" if near else f"there are {_list(f'`{key}`' for key in keys)}"
            raise _WrongError(f"{what} has an unknown key {quoted(str(key))}; {cure}")
    return value


def _texts(data: Mapping[str, object], key: str) -> tuple[str, ...]:
    """Give a list of texts; one text alone is a list of one, a missing key an empty one."""
    if key not in data:
        return ()
    value = data[key]
    texts: list[str] = []
    for text in value if isinstance(value, list) else [value]:
        if not isinstance(text, str):
            cure = "; put it in quotes" if isinstance(text, (bool, int, float)) or hasattr(text, "isoformat") else ""
            raise _WrongError(f"`{key}` holds {_kind(text)}, not a text{cure}")
        if not text.strip():
            raise _WrongError(f"`{key}` holds an empty text; fill it in or remove it")
        texts.append(text.strip())
    if not texts:
        raise _WrongError(f"`{key}` is empty; fill it in or remove it")
    return tuple(texts)


def _phrase(text: str) -> str:
    """Give a phrase in one form: its characters composed, one space between words."""
    return " ".join(unicodedata.normalize("NFKC", text).split())


def _kind(value: object) -> str:
    match value:
        case None:
            return "nothing"
        case bool():
            return f"{str(value).lower()} (YAML reads yes, no, on and off so)"
        case int() | float():
            return f"the number {value}"
        case str():
            return f"the text {quoted(value)}"
        case Mapping():
            return "a mapping"
        case list():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def _list(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
