"""Where a rule stands: the file and the line, found by composing its YAML without constructing anything.

So custom tags (`!ENV`, `!!python/name:…`) are no hindrance. Where a line cannot be found, since a hook made the rules,
the place is the file and the rule's number.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path

import yaml

from mkdocs_roaming.errors import PublishError

PLUGIN = "roaming"


def locate_config_rules(file: Path | None, count: int) -> list[str]:
    """Give the places of the plugin's rules in mkdocs.yml, or in a file that it inherits from."""
    name = "mkdocs.yml"
    at: Path | None = file
    for _ in range(_DEEPEST):
        text = _read_text(at)
        if at is None or text is None:
            break
        name = display_path(at) if at is file else name
        root = _composed(text)
        lines = _lines(_of_plugin(_value(root, "plugins")))
        if lines:
            return _places(display_path(at), lines, count)
        inherited = _value(root, "INHERIT")
        at = at.parent / str(inherited.value) if isinstance(inherited, yaml.ScalarNode) else None
    return _places(name, [], count)


def locate_page_rules(name: str, text: str, count: int) -> list[str]:
    """Give the places of the rules in a page's front matter."""
    found = _FRONT_MATTER.match(text)
    lines = _lines(_value(_value(_composed(found[2]), PLUGIN), "rules")) if found else []
    before = found[1].count("\n") if found else 0
    return _places(name, [line + before for line in lines], count)


def locate_file_rules(file: Path, text: str, count: int) -> list[str]:
    """Give the places of the rules in a file of rules."""
    root = _composed(text)
    return _places(str(file), _lines(root if isinstance(root, yaml.SequenceNode) else _value(root, "rules")), count)


def display_path(file: Path) -> str:
    """Give a file's name as it is typed where the build was started."""
    try:
        return file.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(file)


_DEEPEST = 10


_FRONT_MATTER = re.compile(r"\A(\ufeff?---[ \t]*\r?\n)(.*?\r?\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)


def _places(name: str, lines: list[int], count: int) -> list[str]:
    if len(lines) == count:
        return [f"{name}:{line}" for line in lines]
    return [f"{name}, rule {number}" for number in range(1, count + 1)]


def _lines(rules: yaml.Node | None) -> list[int]:
    return [item.start_mark.line + 1 for item in rules.value] if isinstance(rules, yaml.SequenceNode) else []


def _of_plugin(plugins: yaml.Node | None) -> yaml.Node | None:
    """Give the plugin's rules; plugins are a list of names and mappings, or a mapping."""
    many = plugins.value if isinstance(plugins, yaml.SequenceNode) else [plugins]
    for one in many:
        if rules := _value(_value(one, PLUGIN), "rules"):
            return rules
    return None


def _value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    """Give what stands under a key of a mapping, merged mappings included."""
    if not isinstance(node, yaml.MappingNode):
        return None
    pairs = [*_merged(node), *node.value]
    return next((value for name, value in reversed(pairs) if name.value == key), None)


def _merged(node: yaml.MappingNode) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    for name, value in node.value:
        if name.tag == "tag:yaml.org,2002:merge":
            many = value.value if isinstance(value, yaml.SequenceNode) else [value]
            for one in reversed(many):  # the first one wins
                if isinstance(one, yaml.MappingNode):
                    yield from one.value


def _composed(text: str) -> yaml.Node | None:
    try:
        node: yaml.Node | None = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.YAMLError:
        return None
    return node


def _read_text(file: Path | None) -> str | None:
    try:
        return file.read_text("utf-8-sig") if file else None
    except (OSError, ValueError):
        return None


# MERGED mkdocs_roaming.publish.rules:
# Rules as they are written in mkdocs.yml, in a page's front matter or in a file: read, and checked for their
# shape.
#
# Whatever is wrong is told with the file and line where it stands.


MODES = ("each", "pool")


@dataclass(frozen=True, slots=True)
class ParsedRule:
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
class RuleSet:
    """The rules of a site. With `lenient`, what fits nothing is left out and noted: another language's pages."""

    rules: tuple[ParsedRule, ...] = ()
    mode: str = "each"
    lenient: bool = False


def read_config_rules(given: object, file: Path | None) -> tuple[ParsedRule, ...]:
    """Read the rules that stand under the plugin in mkdocs.yml; raises PublishError, as all of these do."""
    name = display_path(file) if file else "mkdocs.yml"
    return _read(given, lambda count: locate_config_rules(file, count), name)


def read_page_rules(given: object, source: str, text: str, file: Path | None = None) -> tuple[ParsedRule, ...]:
    """Read the rules in what a page's front matter says of `roaming`; a page that is generated has no file."""
    name = display_path(file) if file else source
    if not isinstance(given, Mapping) or set(given) - {"rules"}:
        raise PublishError(f"{name}: `roaming` in front matter takes `rules`, a list; nothing else")
    rules = given.get("rules", [])
    return _read(rules, lambda count: locate_page_rules(name, text, count), name, page=source)


def read_rules_file(file: Path) -> RuleSet:
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
        raise PublishError(f"{file}: unknown key {quote(unknown[0])}; a file of rules has `rules` and `rules_mode`")
    mode = book.get("rules_mode", "each")
    if mode not in MODES:
        raise PublishError(f"{file}: rules_mode is {mode!r}; set it to each or pool")
    return RuleSet(_read(book.get("rules"), lambda count: locate_file_rules(file, text, count), str(file)), mode)


def make_rules_error(faults: Sequence[str]) -> PublishError:
    """Give the error that tells these faults, on one line."""
    more = f" (and {len(faults) - _TOLD} more)" if len(faults) > _TOLD else ""
    return PublishError("; ".join(faults[:_TOLD]) + more)


_TOLD = 10


def quote(text: str) -> str:
    """Give a text in quotation marks, cut where it is endless."""
    return f"“{text if len(text) <= _LONGEST else text[:_LONGEST] + '…'}”"


_LONGEST = 80


class _WrongError(Exception):
    """What is wrong with a rule, in words."""


def _read(
    given: object, places_of: Callable[[int], list[str]], name: str, *, page: str | None = None
) -> tuple[ParsedRule, ...]:
    if not isinstance(given, list):
        raise PublishError(f"{name}: `rules` is {_kind(given)}, not a list of rules")
    faults: list[str] = []
    rules: list[ParsedRule] = []
    for item, where in zip(given, places_of(len(given)), strict=True):
        try:
            rules.append(_rule(item, where, page))
        except _WrongError as error:
            faults.append(f"{where}: {error}")
    if faults:
        raise make_rules_error(faults)
    return tuple(rules)


def _rule(item: object, where: str, page: str | None) -> ParsedRule:
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
    return ParsedRule(
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
            raise _WrongError(f"{what} has an unknown key {quote(str(key))}; {cure}")
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
            return f"the text {quote(value)}"
        case Mapping():
            return "a mapping"
        case list():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def _list(words: Iterable[str]) -> str:
    *most, last = words
    return f"{', '.join(most)} and {last}" if most else last
