"""Edits of configuration files: lines are added, and everything else stays as it is.

Each edit loads the new text and compares it with the old content and what was to be added. If they differ, or if the
text cannot be loaded, there is no edit.
"""

from __future__ import annotations

import json
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.setup.detect import Setup, find_requirements, find_workflows, read, relative
from mkdocs_roaming.sources.project import OWN_FILE, OWN_TABLE, PLUGIN, parse_yaml

PACKAGE = "mkdocs-roaming"
_GROUP = re.compile(r"(?=.*dependenc).*\.(?:docs?|documentation|rtd|site|website|dev)(?:[-_][\w-]*)?\.")
_VERSION = r"""(\s*(?:==|>=|~=)\s*|\s*=\s*["'][\^~]?(?=\d))?"""
_NAME = re.compile(r"""[ \t]*["']?([A-Za-z][\w.-]*)(?=["'\[<>=~!;,\s]|$)""")
_WRAP = re.compile(rf"(?:pip install {PACKAGE} && |pipx run --spec {PACKAGE} )?[\w./-]*roaming build -- |{PACKAGE} ")

_HOSTS = ("netlify.toml", "vercel.json", "wrangler.toml", "wrangler.jsonc", "wrangler.json")
_LOCKS = {"uv.lock": "uv lock", "poetry.lock": "poetry lock", "pdm.lock": "pdm lock"}
_DEPLOYS = re.compile(r"deploy|gh-pages|upload-pages|rsync|wrangler|netlify|vercel|aws s3")
_FOLDER = re.compile(
    r"""(?m)^\s*(?:- )?(?:working-directory:|(?:run:\s*)?cd)\s+["']?(?:\./)?([^\s"';&]+?)/?["']?\s*$"""
)
_RUNNER = re.compile(r"((?:(?:uv|poetry|pdm|hatch) run|uvx)(?: -\S+(?: (?!sphinx)[^\s-]\S*)?)* )(?:python -m )?sphinx")
_PUBLISH = 'roaming index "$READTHEDOCS_OUTPUT/html" --url "$READTHEDOCS_CANONICAL_URL"'
_INSTALL = f"pip install {PACKAGE}"


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


# Plan


@dataclass(slots=True)
class Plan:
    """The old and new texts of changed files, and the steps that are left to the maintainer."""

    setup: Setup
    old: dict[Path, str] = field(default_factory=dict)
    new: dict[Path, str] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def edit(self, file: Path, change: Callable[[str], str], lines: str = "") -> bool:
        """Change the text of a file, which may be missing, and return whether it has changed.

        Args:
            file: The file.
            change: Returns the new text. It raises EditError if it cannot change the old one.
            lines: The lines that the maintainer adds in this case.
        """
        try:
            text = self.new.get(file) or (file.read_bytes().decode() if file.exists() else "")
            new = change(text)
            if new != text and file.exists() and not file.stat().st_mode & 0o222:
                raise EditError("it is read-only")
        except (EditError, OSError, UnicodeError, yaml.YAMLError) as error:
            if lines:
                self.steps.append(f"add to {file}, which is left as it is ({' '.join(str(error).split())}):\n\n{lines}")
            return False
        if new != text:
            self.old.setdefault(file, text)
            self.new[file] = new
        return new != text

    @property
    def diff(self) -> str:
        """The changes as a unified diff."""
        lines: list[str] = []
        for file, new in self.new.items():
            name, old = relative(file, self.setup.root), self.old[file]
            names = f"a/{name}" if old else "/dev/null", f"b/{name}"
            lines += unified_diff(old.splitlines(keepends=True), new.splitlines(keepends=True), *names)
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def make_plan(setup: Setup) -> Plan:
    """Return the changes to a project."""
    plan = Plan(setup)
    if setup.project.block is None:
        _add_options(plan)
    if not setup.url and not setup.has_url:
        file = setup.config if setup.generator.has_plugins else setup.work / OWN_FILE
        plan.steps.append(f"set site_url, the URL of the site, in {file}")
    _edit_builds(plan)
    if setup.generator.requirements:
        _add_requirement(plan)
    if (ignored := setup.root / ".gitignore").exists() and not re.search(
        r"(?m)^[^#\n]*\.cache(/\S*)?\s*$", read(ignored)
    ):
        line = f"{relative(setup.work / '.cache/roaming', setup.root)}/\n"
        plan.edit(ignored, lambda text: text + line if text.endswith("\n") else f"{text}\n{line}")
    return plan


def _add_options(plan: Plan) -> None:
    """Add the plugin, or the table, with its options."""
    setup, options = plan.setup, dict[str, Any](widget=True, page_menu=True)
    file, keys = setup.config, ["project", "plugins", PLUGIN]
    if setup.llms_txt:
        options["llms_txt"] = "preamble"
    if setup.llms_plugins:
        options["overwrite"] = True
    if not setup.generator.has_plugins:
        url = {} if setup.has_url or not setup.url else {"site_url": setup.url}
        file, keys = setup.work / OWN_FILE, [OWN_TABLE]
        options = {"site_dir": relative(setup.site, setup.work), **url, **options}
    if setup.llms_plugins:
        plan.steps.append(f"remove {setup.llms_plugins[0]}, which writes llms.txt, too, and `overwrite` from {file}")
    if file.suffix == ".toml":
        plan.edit(file, lambda text: add_table(text, keys, options), add_table("", keys, options))
    else:
        lines = add_yaml("plugins:\n", ("plugins",), [{PLUGIN: options}])
        plan.edit(_find_plugin_file(file), lambda text: add_plugin(text, options), lines)


def _find_plugin_file(config: Path) -> Path:
    """Return the file with the list of plugins: a mkdocs.yml, or one that it inherits."""
    file, parents = config, {config}
    while not re.search(r"(?m)^plugins:", read(file)):
        found = re.search(r"(?m)^INHERIT:\s*[\"']?([^\"'\s]+)", read(file))
        if found is None or (file := file.parent / found[1]) in parents:
            return config
        parents.add(file)
    return file


def _add_requirement(plan: Plan) -> None:
    """Add the package to the requirements of the documentation."""
    setup, files = plan.setup, find_requirements(plan.setup.root, plan.setup.work)
    if any(PACKAGE in read(file) for file in files):
        return
    add = partial(add_requirement, names=setup.generator.requirements)
    file = next((file for file in files if plan.edit(file, partial(add, suffix=file.suffix))), None)
    if file is None and not any(PACKAGE in text for text in plan.new.values()):
        plan.steps.append(f"install {PACKAGE} where the site is built: {_INSTALL}")
    if file is None:
        return
    if file.suffix == ".toml":
        locks = [command for name, command in _LOCKS.items() if (setup.root / name).exists()]
        plan.steps += [f"update the lock file: {command}" for command in locks]


def _edit_builds(plan: Plan) -> None:
    """Let workflows and hosts install the package, and run their build command in `roaming build`."""
    setup, before = plan.setup, len(plan.new)
    files = [*find_workflows(setup.root), *setup.root.glob(".readthedocs.y*ml")]
    files += [
        file
        for name in _HOSTS
        for folder in dict.fromkeys((setup.root, setup.work))
        if (file := folder / name).exists()
    ]
    for file in files:
        _edit_build(plan, file)
    if setup.command and len(plan.new) == before and not any("roaming " in read(file) for file in files):
        get = "" if setup.generator.requirements else f"{_INSTALL} && "
        plan.steps.append(f"where the site is built, run: {get}roaming build -- {setup.command}")


def _edit_build(plan: Plan, file: Path) -> None:
    generator, wrap = plan.setup.generator, partial(wrap_commands, suffix=file.suffix)
    get = f"{_INSTALL} && " if file.name in _HOSTS else f"pipx run --spec {PACKAGE} "
    if names := "|".join(generator.requirements):
        install = rf"""(?:(?<=pip install )|(?<=pip3 install ))(?:[^\s&-]\S* )*["']?(?:{names})(?=[\s"'\[<=>~]|$)"""
        plan.edit(file, partial(wrap, command=install, prefix=f"{PACKAGE} "))
        get = ""
    if file.name.startswith(".readthedocs") and generator.name == "sphinx":
        plan.edit(file, _publish_on_read_the_docs)
    elif generator.build and _builds_site(plan.setup, file):
        scripts = "|".join(re.escape(script.split()[-1]) for script in plan.setup.scripts) or "(?!)"
        command = generator.build.replace("{scripts}", scripts)
        plan.edit(file, partial(wrap, command=command, prefix=f"{get}{{path}}roaming build -- "))


def _builds_site(setup: Setup, file: Path) -> bool:
    """Return whether the build commands in a file build the site, for its host, in the folder of its configuration."""
    if setup.generator.has_plugins or file.name in _HOSTS:
        return True
    text, work = read(file), relative(setup.work, setup.root)
    is_here = set(_FOLDER.findall(text)) <= {work} and (work == "." or work in text)
    return is_here and _DEPLOYS.search(text) is not None


def _publish_on_read_the_docs(text: str) -> str:
    """Return the configuration of Read the Docs with a step that publishes the output of Sphinx."""
    if _PUBLISH in text:
        return text
    runner = _RUNNER.search(text)
    publish = f"{runner[1]}{_PUBLISH}" if runner else _PUBLISH
    if "commands" in load_text(text, ".yml").get("build", {}):
        return add_yaml(text, ("build", "commands"), [_INSTALL, publish])
    return add_yaml(text, ("build", "jobs", "post_build"), [publish])
