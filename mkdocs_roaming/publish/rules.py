"""Rules in mkdocs.yml, in the front matter of a page or in a YAML file: parsing and validation.

Errors name the file and the line of each invalid rule.
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

MODES = ("each", "pool")

_PLUGIN = "roaming"


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
    name = display_path(file) if file else "mkdocs.yml"
    return _parse_rules(rules, lambda count: locate_config_rules(file, count), name)


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
    name = display_path(file) if file else source
    if not isinstance(front_matter, Mapping) or set(front_matter) - {"rules"}:
        raise PublishError(f"{name}: `roaming` in front matter must be a mapping with the key `rules`, a list")
    rules = front_matter.get("rules", [])
    return _parse_rules(rules, lambda count: locate_page_rules(name, text, count), name, page=source)


def read_rules_file(file: Path) -> RuleSet:
    """Parse a YAML file of rules: a list, or a mapping with the plugin's keys `rules` and `rules_mode`.

    Raises:
        PublishError: The file cannot be read or a rule is invalid.
    """
    try:
        text = file.read_text("utf-8-sig")
        data = yaml.safe_load(text)
    except OSError as error:
        raise PublishError(f"{file}: cannot be read ({error.strerror}). Name a YAML file of rules") from None
    except (yaml.YAMLError, ValueError, LookupError, AttributeError, RecursionError) as error:  # PyYAML raises them all
        raise PublishError(f"{file}: invalid YAML ({' '.join(str(error).split())})") from None
    options = data if isinstance(data, dict) else {"rules": data}
    if unknown := [str(key) for key in options if key not in ("rules", "rules_mode")]:
        raise PublishError(f"{file}: unknown key {quote(unknown[0])}. Available keys: `rules` and `rules_mode`")
    mode = options.get("rules_mode", "each")
    if mode not in MODES:
        raise PublishError(f"{file}: rules_mode is {mode!r}; set it to each or pool")
    rules = _parse_rules(options.get("rules"), lambda count: locate_file_rules(file, text, count), str(file))
    return RuleSet(rules, mode)


def make_rules_error(problems: Sequence[str]) -> PublishError:
    """Return the error for a list of problems, as one line."""
    more = f" (and {len(problems) - _MAX_PROBLEMS} more)" if len(problems) > _MAX_PROBLEMS else ""
    return PublishError("; ".join(problems[:_MAX_PROBLEMS]) + more)


def quote(text: str) -> str:
    """Return a text in quotes for a message, truncated if it is long."""
    return f"“{text if len(text) <= _MAX_QUOTE_CHARS else text[:_MAX_QUOTE_CHARS] + '…'}”"


_MAX_PROBLEMS = 10
_MAX_QUOTE_CHARS = 80


# Validation


class _InvalidRuleError(Exception):
    """A rule is invalid."""


def _parse_rules(
    data: object, locate: Callable[[int], list[str]], name: str, page: str | None = None
) -> tuple[ParsedRule, ...]:
    """Parse a list of rules; `locate` returns the locations of a number of rules."""
    if not isinstance(data, list):
        raise PublishError(f"{name}: `rules` is {_describe(data)}, not a list of rules")
    problems: list[str] = []
    rules: list[ParsedRule] = []
    for item, where in zip(data, locate(len(data)), strict=True):
        try:
            rules.append(_parse_rule(item, where, page))
        except _InvalidRuleError as error:
            problems.append(f"{where}: {error}")
    if problems:
        raise make_rules_error(problems)
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
            raise _InvalidRuleError(f"{name} has an unknown key {quote(str(key))}; {fix}")
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
            return f"the string {quote(value)}"
        case Mapping():
            return "a mapping"
        case list():
            return "a list"
        case _:
            return f"a {type(value).__name__}"


def _enumerate(keys: Iterable[str]) -> str:
    *first, last = (f"`{key}`" for key in keys)
    return f"{', '.join(first)} and {last}" if first else last


# Locations: found by composing the YAML without constructing it, so custom tags such as `!ENV` are no obstacle. If the
# lines cannot be found, for example because a hook created the rules, the location is the file and the rule's number.


def locate_config_rules(file: Path | None, count: int) -> list[str]:
    """Return the locations of the plugin's rules in mkdocs.yml, or in a file that it inherits from."""
    name = display_path(file) if file else "mkdocs.yml"
    current: Path | None = file
    for _ in range(_MAX_INHERITED):
        text = _read_text(current)
        if current is None or text is None:
            break
        root = _compose(text)
        lines = _item_lines(_find_plugin_rules(_get_value(root, "plugins")))
        if lines:
            return _format_locations(display_path(current), lines, count)
        inherited = _get_value(root, "INHERIT")
        current = current.parent / str(inherited.value) if isinstance(inherited, yaml.ScalarNode) else None
    return _format_locations(name, [], count)


def locate_page_rules(name: str, text: str, count: int) -> list[str]:
    """Return the locations of the rules in a page's front matter."""
    found = _FRONT_MATTER.match(text)
    lines = _item_lines(_get_value(_get_value(_compose(found[2]), _PLUGIN), "rules")) if found else []
    offset = found[1].count("\n") if found else 0
    return _format_locations(name, [line + offset for line in lines], count)


def locate_file_rules(file: Path, text: str, count: int) -> list[str]:
    """Return the locations of the rules in a file of rules."""
    root = _compose(text)
    rules = root if isinstance(root, yaml.SequenceNode) else _get_value(root, "rules")
    return _format_locations(str(file), _item_lines(rules), count)


def display_path(file: Path) -> str:
    """Return a file's path relative to the working directory if it is below it."""
    try:
        return file.resolve().relative_to(Path.cwd()).as_posix()
    except ValueError:
        return str(file)


_MAX_INHERITED = 10
_FRONT_MATTER = re.compile(r"\A(\ufeff?---[ \t]*\r?\n)(.*?\r?\n)(?:---|\.\.\.)[ \t]*(?:\r?\n|\Z)", re.DOTALL)


def _format_locations(name: str, lines: list[int], count: int) -> list[str]:
    if len(lines) == count:
        return [f"{name}:{line}" for line in lines]
    return [f"{name}, rule {number}" for number in range(1, count + 1)]


def _item_lines(rules: yaml.Node | None) -> list[int]:
    return [item.start_mark.line + 1 for item in rules.value] if isinstance(rules, yaml.SequenceNode) else []


def _find_plugin_rules(plugins: yaml.Node | None) -> yaml.Node | None:
    """Return the plugin's rules; `plugins` is a list of names and mappings, or a mapping."""
    for entry in plugins.value if isinstance(plugins, yaml.SequenceNode) else [plugins]:
        if rules := _get_value(_get_value(entry, _PLUGIN), "rules"):
            return rules
    return None


def _get_value(node: yaml.Node | None, key: str) -> yaml.Node | None:
    """Return the value of a key of a mapping, also from a merged mapping (`<<`)."""
    if not isinstance(node, yaml.MappingNode):
        return None
    pairs = [*_merged_pairs(node), *node.value]
    return next((value for name, value in reversed(pairs) if name.value == key), None)


def _merged_pairs(node: yaml.MappingNode) -> Iterator[tuple[yaml.Node, yaml.Node]]:
    for name, value in node.value:
        if name.tag == "tag:yaml.org,2002:merge":
            mappings = value.value if isinstance(value, yaml.SequenceNode) else [value]
            for mapping in reversed(mappings):  # the first one has precedence
                if isinstance(mapping, yaml.MappingNode):
                    yield from mapping.value


def _compose(text: str) -> yaml.Node | None:
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
