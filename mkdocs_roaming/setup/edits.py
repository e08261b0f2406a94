"""Edits of configuration files: lines are added, and everything else stays as it is.

Each edit of YAML and TOML loads the new text and compares it with the expected content. If they differ, or if the text
cannot be loaded, there is no edit.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.sources.project import PLUGIN, parse_yaml

PACKAGE = "mkdocs-roaming"
Options = Mapping[str, Any]

_FORM = "it has a form that cannot be edited"


class EditError(ValueError):
    """A text cannot be edited so that only the addition changes."""


# Plugin lines and tables


def render_plugin(options: Options, column: int = 2) -> str:
    """Return the lines of the plugin in a list that begins at a column."""
    rows = [f"- {PLUGIN}:"]
    for key, value in options.items():
        text = json.dumps(value).strip('"')
        rows.append(f"    {key}: {text}")
    return "".join(f"{' ' * column}{row}\n" for row in rows)


def add_plugin(text: str, options: Options) -> str:
    """Return a mkdocs.yml with the plugin.

    Raises:
        EditError: The text is invalid, or has a form that cannot be edited.
    """
    data = _load_yaml(text)
    if "plugins" in data:
        plugins = data["plugins"]
        new = _insert_plugin(text, options)
    elif "INHERIT" in data:
        raise EditError(f"it may inherit plugins from {data['INHERIT']}")
    else:  # MkDocs enables its search only for a configuration without plugins
        plugins = ["search"]
        new = append(text, f"plugins:\n  - search\n{render_plugin(options)}")
    if str(_load_yaml(new)) != str({**data, "plugins": [*plugins, {PLUGIN: options}]}):
        raise EditError(_FORM)
    return new


def _insert_plugin(text: str, options: Options) -> str:
    """Insert the plugin behind the last one of a list, and behind the comments that belong to it."""
    root: Any = yaml.compose(text, yaml.SafeLoader)
    node = next(value for key, value in root.value if key.value == "plugins")
    if not isinstance(node, yaml.SequenceNode) or node.flow_style:
        raise EditError(_FORM)
    column = node.start_mark.column
    rows = text.splitlines(keepends=True)
    end = min(node.end_mark.line + (node.end_mark.column > column), len(rows))
    while _belongs_below(rows[end - 1], column):
        end -= 1
    head = "".join(rows[:end])
    if not head.endswith("\n"):
        head += "\n"
    return append(head, render_plugin(options, column), "") + "".join(rows[end:])


def _belongs_below(row: str, column: int) -> bool:
    """Return whether a row behind a list is empty, or a comment that is not indented more than the list."""
    content = row.lstrip()
    indent = len(row) - len(content)
    return not content or (content.startswith("#") and indent <= column)


def append(text: str, lines: str, space: str = "\n") -> str:
    """Return a text with lines behind it, below an empty line."""
    newline = "\r\n" if "\r\n" in text else "\n"
    if space and text.strip():
        text = text.rstrip() + newline * 2
    return text + lines.replace("\n", newline)


def _load_yaml(text: str) -> dict[str, Any]:
    try:
        data = parse_yaml(text, "") if text.strip() else {}
    except UsageError as error:
        raise EditError(str(error).lstrip(": ")) from None
    if not isinstance(data, dict):
        raise EditError("it is no mapping")
    return data


def render_table(keys: Sequence[str], options: Options) -> str:
    """Return the lines of a TOML table."""
    rows = [f"{key} = {json.dumps(value, ensure_ascii=False)}\n" for key, value in options.items()]
    return "".join([f"[{'.'.join(keys)}]\n", *rows])


def add_table(text: str, keys: Sequence[str], options: Options) -> str:
    """Return TOML with a table at its end.

    Raises:
        EditError: The text is invalid, or has a form that cannot be edited.
    """
    new = append(text, render_table(keys, options))
    _load_toml(text)
    _load_toml(new)
    return new


def _load_toml(text: str) -> dict[str, Any]:
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise EditError(f"{_FORM}: {error}") from None
