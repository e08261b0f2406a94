"""Where a rule stands: the file and the line, found by composing its YAML without constructing anything.

So custom tags (`!ENV`, `!!python/name:…`) are no hindrance. Where a line cannot be found, since a hook made the rules,
the place is the file and the rule's number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import yaml

PLUGIN = "roaming"


def in_config(file: Path | None, count: int) -> list[str]:
    """Give the places of the plugin's rules in mkdocs.yml, or in a file that it inherits from."""
    name = "mkdocs.yml"
    at: Path | None = file
    for _ in range(_DEEPEST):
        text = _read(at)
        if at is None or text is None:
            break
        name = shown(at) if at is file else name
        root = _composed(text)
        lines = _lines(_of_plugin(_value(root, "plugins")))
        if lines:
            return _places(shown(at), lines, count)
        inherited = _value(root, "INHERIT")
        at = at.parent / str(inherited.value) if isinstance(inherited, yaml.ScalarNode) else None
    return _places(name, [], count)


def in_front_matter(name: str, text: str, count: int) -> list[str]:
    """Give the places of the rules in a page's front matter."""
    found = _FRONT_MATTER.match(text)
    lines = _lines(_value(_value(_composed(found[2]), PLUGIN), "rules")) if found else []
    before = found[1].count("\n") if found else 0
    return _places(name, [line + before for line in lines], count)


def in_file(file: Path, text: str, count: int) -> list[str]:
    """Give the places of the rules in a file of rules."""
    root = _composed(text)
    return _places(str(file), _lines(root if isinstance(root, yaml.SequenceNode) else _value(root, "rules")), count)


def shown(file: Path) -> str:
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


def _read(file: Path | None) -> str | None:
    try:
        return file.read_text("utf-8-sig") if file else None
    except (OSError, ValueError):
        return None
