"""Edits of configuration files: lines are added, and everything else stays as it is.

Each edit loads the new text and compares it with the old content and what was to be added. If they differ, or if the
text cannot be loaded, there is no edit.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any

import yaml

from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.sources.project import PLUGIN, parse_yaml

PACKAGE = "mkdocs-roaming"
_GROUP = re.compile(r"(?=.*dependenc).*\.(?:docs?|documentation|rtd|site|website|dev)(?:[-_][\w-]*)?\.")
_VERSION = r"""(\s*(?:==|>=|~=)\s*|\s*=\s*["'][\^~]?(?=\d))?"""
_NAME = re.compile(r"""[ \t]*["']?([A-Za-z][\w.-]*)(?=["'\[<>=~!;,\s]|$)""")
_WRAP = re.compile(rf"(?:pip install {PACKAGE} && |pipx run --spec {PACKAGE} )?[\w./-]*roaming build -- |{PACKAGE} ")


class EditError(ValueError):
    """A text cannot be edited so that only the addition changes."""


def load_text(text: str, suffix: str) -> Any:
    """Return the content of a configuration: YAML, TOML, or JSON with comments.

    Raises:
        EditError: The text is invalid.
    """
    try:
        if suffix == ".toml":
            return tomllib.loads(text)
        if suffix.startswith(".json"):
            return json.loads(re.sub(r"(?m)^\s*//.*$", "", text))
        return parse_yaml(text, "")
    except (ValueError, RecursionError, UsageError) as error:
        raise EditError(str(error).lstrip(": ")) from None


def _list_values(data: Any, path: str = "") -> Iterator[str]:
    """Yield each value with its path, in their order."""
    if isinstance(data, dict | list):
        for key, value in data.items() if isinstance(data, dict) else (("[]", item) for item in data):
            yield from _list_values(value, f"{path}.{key}")
    elif data is not None:
        yield f"{path}={type(data).__name__} {data}"


def _check(old: str, new: str, suffix: str, added: Any) -> str:
    """Return the new text if it has all values of the old one, and those that were added."""
    before, after = (Counter(_list_values(load_text(text, suffix))) for text in (old, new))
    if after != before + Counter(_list_values(added)):
        raise EditError("it has a form that cannot be edited")
    return new


def _nest(keys: Sequence[str], value: Any) -> Any:
    for key in reversed(keys):
        value = {key: value}
    return value


# Plugin lines and tables


def add_plugin(text: str, options: dict[str, Any]) -> str:
    """Return a mkdocs.yml with the plugin.

    Raises:
        EditError: The text is invalid, or has a form that cannot be edited.
    """
    data = load_text(text, ".yml")
    plugins = data.get("plugins") if isinstance(data, dict) else None
    if isinstance(plugins, dict):
        return add_yaml(text, ("plugins",), {PLUGIN: options})
    if any(item == PLUGIN or (isinstance(item, dict) and PLUGIN in item) for item in plugins or ()):
        raise EditError("it has the plugin already")
    # MkDocs enables its search only for a configuration without plugins.
    return add_yaml(text, ("plugins",), [*(["search"] if plugins is None else []), {PLUGIN: options}])


def add_yaml(text: str, keys: Sequence[str], value: Any) -> str:
    """Return YAML with the items of a list, or the keys of a mapping, added at a path, whose rest is created.

    Raises:
        EditError: The text is invalid, or has a form that cannot be edited.
    """
    load_text(text, ".yml")
    node, key, missing = yaml.compose(text, yaml.SafeLoader), None, list(keys)
    while missing and isinstance(node, yaml.MappingNode):
        child = next(((one, item) for one, item in node.value if one.value == missing[0]), None)
        if child is None:
            break
        key, node = child
        missing.pop(0)
    addition = _nest(missing, value)
    if isinstance(node, yaml.CollectionNode):
        insert = _insert_flow if node.flow_style else _insert_block
        new = insert(text, node, node.start_mark.column, addition)
    elif key is not None:  # it has no value
        new = _insert_block(text, key, key.start_mark.column + 2, addition)
    else:
        raise EditError("it is empty")
    return _check(text, new, ".yml", _nest(keys, value))


def _insert_flow(text: str, node: yaml.Node, column: int, value: Any) -> str:
    """Insert items before the closing bracket of a list or mapping."""
    items = yaml.safe_dump(value, default_flow_style=True, sort_keys=False, width=10_000).strip()[1:-1]
    before = text[: node.end_mark.index - 1].rstrip()
    separator = "" if before.endswith(("[", "{")) else " " if before.endswith(",") else ", "
    return before + separator + items + text[len(before) :]


def _insert_block(text: str, node: yaml.Node, column: int, value: Any) -> str:
    """Insert lines after the last one of a node, and after the comments that belong to it."""
    newline = "\r\n" if "\r\n" in text else "\n"
    dumped = yaml.dump(value, Dumper=_Dumper, sort_keys=False, width=10_000, allow_unicode=True)
    lines = text.splitlines(keepends=True)
    end = node.end_mark.line + (node.end_mark.column > column or not isinstance(node, yaml.CollectionNode))
    end = min(end, len(lines))
    while end > node.start_mark.line + 1 and re.match(rf"\s*$|\s{{0,{column}}}#", lines[end - 1]):
        end -= 1
    added = [" " * column + line for line in dumped.splitlines()]
    if column == 0 and isinstance(value, dict) and any(not line.strip() for line in lines):
        added.insert(0, "")
    head = "".join(lines[:end])
    if head.endswith("\n"):
        return head + newline.join([*added, ""]) + "".join(lines[end:])
    return newline.join([head, *added])


class _Dumper(yaml.SafeDumper):
    """Writes lists indented below their key."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Increase the indentation, also of lists."""
        super().increase_indent(flow, False)


def add_table(text: str, keys: Sequence[str], options: dict[str, Any]) -> str:
    """Return TOML with a table, after the other tables of its parent.

    Raises:
        EditError: The text is invalid, or has a form that cannot be edited.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    lines = [f"[{'.'.join(keys)}]", *(f"{key} = {json.dumps(value)}" for key, value in options.items())]
    tables, parent = [*re.finditer(r"(?m)^\[+([^\]\n]+)\]", text)], f"{'.'.join(keys[:-1])}."
    after = max((index + 1 for index, one in enumerate(tables) if one[1].startswith(parent)), default=len(tables))
    end = tables[after].start() if after < len(tables) else len(text)
    head, tail = text[:end].rstrip(), text[end:]
    new = newline.join([*([head, ""] if head else []), *lines, *(["", tail] if tail else [""])])
    return _check(text, new, ".toml", _nest(keys, options))


# Requirements


def add_requirement(text: str, names: Sequence[str], suffix: str) -> str:
    """Return a requirements.txt or pyproject.toml with this package, in the form of the line of another one.

    Args:
        text: The text.
        names: The packages next to which it is added, the best one first.
        suffix: The suffix of the file's name.

    Raises:
        EditError: The text does not list such a package in a form that can be edited.
    """
    if suffix != ".toml" and re.search(r"autogenerated by|--hash=|uv (?:pip compile|export)", text):
        raise EditError("it is written by a program")
    lines, found = text.splitlines(keepends=True), list[tuple[bool, int, str]]()
    for new in (new for name in names for new in _iter_requirements(lines, name, is_toml=suffix == ".toml")):
        place = _find_place(text, new) if suffix == ".toml" else "doc"
        if place:
            found.append(("doc" not in place, len(found), new))
    if not found:
        raise EditError(f"it does not require {' or '.join(names)}")
    return min(found)[-1]


def _iter_requirements(lines: list[str], name: str, *, is_toml: bool) -> Iterator[str]:
    """Yield the text with the package next to each line, or behind each item of a list, that names another one."""
    item = rf"""(?i)(["']){name}(?:\[[^\]]*\])?(?![\w.-]){_VERSION}[^"']*\1"""
    for index, line in enumerate(lines):
        if _read_name(lines, index) == name:
            yield _insert_line(lines, index, is_toml=is_toml)
        elif is_toml and (found := re.search(item, line)):
            new = f", {found[1]}{PACKAGE}{found[2] + __version__ if found[2] else ''}{found[1]}"
            yield "".join([*lines[:index], line[: found.end()] + new + line[found.end() :], *lines[index + 1 :]])


def _insert_line(lines: list[str], index: int, *, is_toml: bool) -> str:
    """Insert the package next to a line, at its place in the alphabet if the lines around it are sorted."""
    at, name = index, _read_name(lines, index)
    while name <= _read_name(lines, at) < PACKAGE:
        at += 1
    while _read_name(lines, at - 1) > PACKAGE:
        at -= 1
    at = index if at < index and re.match(r"\s*#", lines[at - 1]) else at
    if is_toml and re.match(r"""\s*(["'])[^"']*\1\s*(?:#|$)""", lines[at - 1]):  # the last one without a comma
        at -= 1
    form = re.match(rf"""([ \t]*(["']?))[\w.-]+(?:\[[^\]]*\])?{_VERSION}""", lines[index])
    before, quote, sign = form.groups("") if form else ("", "", "")
    item = before + PACKAGE + (sign and sign + __version__) + (f"{quote}," if quote else sign.strip("=^~> "))
    newline = "\r\n" if lines[0].endswith("\r\n") else "\n"
    added = [newline, item] if at == len(lines) and not lines[-1].endswith("\n") else [item, newline]
    return "".join([*lines[:at], *added, *lines[at:]])


def _read_name(lines: list[str], index: int) -> str:
    found = _NAME.match(lines[index]) if 0 <= index < len(lines) else None
    return found[1].casefold() if found else ""


def _find_place(text: str, new: str) -> str:
    """Return the path of the only value that was added; empty if there are others, or if it is in no suitable group."""
    try:
        old, values = ([*_list_values(load_text(one, ".toml"))] for one in (text, new))
    except EditError:
        return ""
    added = [value for value in values if PACKAGE in value]
    rest = [value for value in values if PACKAGE not in value]
    place = added[0].partition("=")[0] if len(added) == 1 and rest == old else ""
    is_only = place.startswith(".project.dependencies") and "[build-system]" not in text
    return place if is_only or _GROUP.match(place) else ""


# Commands


def wrap_commands(text: str, command: str, prefix: str, suffix: str) -> str:
    """Return a workflow, or a host's configuration, with a text in front of its build commands.

    Args:
        text: The text.
        command: The pattern of the build command; its group `path` is the path of the program.
        prefix: The text; `{path}` is replaced.
        suffix: The suffix of the file's name.

    Raises:
        EditError: The text is invalid, or has a form that cannot be edited.
    """
    pattern = rf"(?m)^((?!\s*(?:- )?(?:name:|#)|.*\broaming ).*?(?<![\w./-]))(?={command})"
    new = re.sub(pattern, lambda found: found[1] + prefix.format(path=found.groupdict().get("path") or ""), text)
    before, after = (([*_list_values(load_text(one, suffix))]) for one in (text, new)) if new != text else ([], [])
    if [_WRAP.sub("", value) for value in after] != before:
        raise EditError("it has a form that cannot be edited")
    return new
