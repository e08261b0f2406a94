"""Generated pages of docs/reference/; the documentation tests compare them with the files."""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, get_args

import click

from mkdocs_roaming.answer import events
from mkdocs_roaming.answer.models.base import Usage
from mkdocs_roaming.answer.support.check import Mark, Support
from mkdocs_roaming.answer.support.passages import Passage
from mkdocs_roaming.cli import main
from mkdocs_roaming.manifest.io import render_schema

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "mkdocs_roaming": ROOT / "mkdocs_roaming",
    "roaming_crawler": ROOT / "crawler/roaming_crawler",
    "roaming_fleet": ROOT / "crawler/roaming_fleet",
    "roaming_deps": ROOT / "crawler/roaming_deps",
}


def load_commands() -> dict[str, click.Command]:
    """Return all commands by name."""
    context = click.Context(main)
    commands = {name: main.get_command(context, name) for name in main.list_commands(context)}
    return {name: command for name, command in commands.items() if command is not None}


def commands_page() -> str:
    """Return the help texts of all commands."""
    overview = f"The output of `roaming --help`, and of each command's `--help`.\n\n{_fenced(_help(main, 'roaming'))}"
    parts = ["# Command line", overview]
    for name, command in load_commands().items():
        parts.append(f"## roaming {name}\n\n{_fenced(_help(command, f'roaming {name}'))}")
        for inner, below in command.commands.items() if isinstance(command, click.Group) else ():
            parts.append(f"### roaming {name} {inner}\n\n{_fenced(_help(below, f'roaming {name} {inner}'))}")
    return "\n\n".join(parts) + "\n"


def events_page() -> str:
    """Return the events of an answer, in the order of the union, and the complete answer."""
    parts = [
        "# Events",
        "The events of an answer, as `mkdocs_roaming.stream` yields them. They are defined in\n"
        "`mkdocs_roaming.answer.events`. Sections are `Reference` objects with title, breadcrumb and URL. The last event is\n"
        "`Finished`.",
        *(_class(kind) for kind in get_args(events.Event)),
        "## Data in events, and the complete answer",
        *(
            _class(kind, "###")
            for kind in (events.Reference, Usage, Support, Mark, Passage, events.NotFound, events.Answer)
        ),
    ]
    return "\n\n".join(parts) + "\n"


def manifest_page() -> str:
    """Return the fields of the manifest by object."""
    schema = json.loads(render_schema())
    parts = [
        "# Manifest",
        "The fields of `roaming/manifest.json`, generated from its JSON Schema.\n"
        "[Published files](published-files.md#manifest) explains how they work together. Fields in bold are always present.",
        _object("Manifest", schema),
    ]
    for name, definition in _objects(schema):
        parts.append(_object(name, definition))
    return "\n\n".join(parts) + "\n"


def modules_page() -> str:
    """Return all packages with the summary line of their docstrings, and the names of their modules."""
    rows = ["| package | task | modules |", "| --- | --- | --- |"]
    for folder in PACKAGES.values():
        for directory in sorted({file.parent for file in folder.rglob("*.py")}):
            name = ".".join(directory.relative_to(folder.parent).parts)
            modules = ", ".join(
                f"`{file.stem}`" for file in sorted(directory.glob("*.py")) if not file.name.startswith("__")
            )
            rows.append(f"| `{name}` | {_summary(directory / '__init__.py')} | {modules} |")
    introduction = (
        "Every package with its task; the docstring of a module says what it contains.\n"
        "The [architecture page](../explanation/architecture.md) explains how the packages work together."
    )
    return "\n\n".join(["# Modules", introduction, "\n".join(rows)]) + "\n"


def _summary(file: Path) -> str:
    docstring = ast.get_docstring(ast.parse(file.read_text("utf-8"))) or ""
    return " ".join(docstring.split("\n\n")[0].split()).replace("|", "\\|")


PAGES: Mapping[str, Callable[[], str]] = {
    "docs/reference/commands.md": commands_page,
    "docs/reference/events.md": events_page,
    "docs/reference/manifest.md": manifest_page,
    "docs/contributing/modules.md": modules_page,
}


def _help(command: click.Command, name: str) -> str:
    names = ["-h", "--help"]
    with click.Context(command, info_name=name, help_option_names=names, terminal_width=80) as context:
        return command.get_help(context)


def _fenced(text: str) -> str:
    return f"```text\n{text.strip()}\n```"


def _class(kind: type, marks: str = "##") -> str:
    """Return the reference of a dataclass or struct; field descriptions come from `Attributes` sections, also of bases."""
    bases = [base for base in reversed(kind.__mro__) if base.__module__ == kind.__module__]
    types = {name: kind for base in bases for name, kind in vars(base).get("__annotations__", {}).items()}
    docstrings = [inspect.cleandoc(base.__doc__ or "").partition("\n\nAttributes:\n") for base in bases]
    attributes, text = "\n".join(section for _, _, section in docstrings), docstrings[-1][0]
    text = text.replace("\n\n", "\x00").replace("\n", " ").replace("\x00", "\n\n")
    found = re.findall(r"^    (\w+): (.*(?:\n {8}.*)*)", attributes, re.MULTILINE)
    meanings = {name: " ".join(meaning.split()) for name, meaning in found}
    rows = [
        f"| `{name}` | {_code(str(types[name]))} | {_default(field)} | {_sentence(meanings.get(name, ''))} |"
        for name, field in inspect.signature(kind).parameters.items()
    ]
    table = ["| field | type | default | meaning |", "| --- | --- | --- | --- |", *rows]
    return "\n".join([f"{marks} {kind.__name__}", "", _sentence(text), "", *table])


def _default(field: inspect.Parameter) -> str:
    if field.default is inspect.Parameter.empty:
        return ""
    return "no tokens" if field.default == Usage() else _code(repr(field.default))


def _objects(schema: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    return ((_object_name(name), one) for name, one in schema["$defs"].items())


def _object_name(name: str) -> str:
    """Return the name of a definition as the page shows it: `NavEntry` → `nav`, `RuleCondition` → `rule condition`."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name.removesuffix("Entry")).lower()


def _object(name: str, one: Mapping[str, Any]) -> str:
    text = _sentence(one.get("description", "")).removesuffix(".")
    lines = [f"## {name[0].upper()}{name[1:]}", "", *([f"{text}.", ""] if text else [])]
    lines += ["| field | type | meaning |", "| --- | --- | --- |", *_rows(one)]
    return "\n".join(lines)


def _rows(one: Mapping[str, Any]) -> Iterator[str]:
    for field, kind in one["properties"].items():
        name = f"**`{field}`**" if field in one.get("required", ()) else f"`{field}`"
        yield f"| {name} | {_kind(kind)} | {_sentence(kind.get('description', ''))} |"


def _kind(kind: Mapping[str, Any]) -> str:
    if "$ref" in kind:
        return _object_name(str(kind["$ref"]).rsplit("/", 1)[1])
    if "anyOf" in kind:
        return " or ".join(map(_kind, kind["anyOf"]))
    if "enum" in kind:
        return " or ".join(f"`{one}`" for one in kind["enum"])
    if "const" in kind:
        return f"`{kind['const']}`"
    if kind.get("type") == "array":
        return f"list of {_kind(kind.get('items', {}))}"
    named = kind.get("title") or kind.get("type", "anything")
    return " or ".join(named) if isinstance(named, list) else str(named)


def _sentence(text: str) -> str:
    text = text.replace("|", "\\|")
    return f"{text[0].upper()}{text[1:]}" if text else ""


def _code(text: str) -> str:
    return f"`{text}`".replace("|", "\\|") if not re.fullmatch(r"`*", text) else ""
