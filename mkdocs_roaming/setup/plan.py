"""The changes that set up mkdocs-roaming in a project: configuration, requirements, workflows and hosts."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from mkdocs_roaming.setup import edits
from mkdocs_roaming.setup.detect import Setup, find_requirements, find_workflows, read, relative
from mkdocs_roaming.sources.project import OWN_FILE, OWN_TABLE, PLUGIN

_HOSTS = ("netlify.toml", "vercel.json", "wrangler.toml", "wrangler.jsonc", "wrangler.json")
_LOCKS = {"uv.lock": "uv lock", "poetry.lock": "poetry lock", "pdm.lock": "pdm lock"}
_DEPLOYS = re.compile(r"deploy|gh-pages|upload-pages|rsync|wrangler|netlify|vercel|aws s3")
_FOLDER = re.compile(
    r"""(?m)^\s*(?:- )?(?:working-directory:|(?:run:\s*)?cd)\s+["']?(?:\./)?([^\s"';&]+?)/?["']?\s*$"""
)
_RUNNER = re.compile(r"((?:(?:uv|poetry|pdm|hatch) run|uvx)(?: -\S+(?: (?!sphinx)[^\s-]\S*)?)* )(?:python -m )?sphinx")
_PUBLISH = 'roaming index "$READTHEDOCS_OUTPUT/html" --url "$READTHEDOCS_CANONICAL_URL"'
_INSTALL = f"pip install {edits.PACKAGE}"


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
            change: Returns the new text. It raises edits.EditError if it cannot change the old one.
            lines: The lines that the maintainer adds in this case.
        """
        try:
            text = self.new.get(file) or (file.read_bytes().decode() if file.exists() else "")
            new = change(text)
            if new != text and file.exists() and not file.stat().st_mode & 0o222:
                raise edits.EditError("it is read-only")
        except (edits.EditError, OSError, UnicodeError, yaml.YAMLError) as error:
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
        plan.edit(file, lambda text: edits.add_table(text, keys, options), edits.add_table("", keys, options))
    else:
        lines = edits.add_yaml("plugins:\n", ("plugins",), [{PLUGIN: options}])
        plan.edit(_find_plugin_file(file), lambda text: edits.add_plugin(text, options), lines)


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
    if any(edits.PACKAGE in read(file) for file in files):
        return
    add = partial(edits.add_requirement, names=setup.generator.requirements)
    file = next((file for file in files if plan.edit(file, partial(add, suffix=file.suffix))), None)
    if file is None and not any(edits.PACKAGE in text for text in plan.new.values()):
        plan.steps.append(f"install {edits.PACKAGE} where the site is built: {_INSTALL}")
    if file is None:
        return
    if file.suffix == ".toml":
        locks = [command for name, command in _LOCKS.items() if (setup.root / name).exists()]
        plan.steps += [f"update the lock file: {command}" for command in locks]


def _edit_builds(plan: Plan) -> None:
    """Add the package to the installations of workflows and hosts, and `roaming build --` to their build commands."""
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
    generator, wrap = plan.setup.generator, partial(edits.wrap_commands, suffix=file.suffix)
    get = f"{_INSTALL} && " if file.name in _HOSTS else f"pipx run --spec {edits.PACKAGE} "
    if names := "|".join(generator.requirements):
        install = rf"""(?:(?<=pip install )|(?<=pip3 install ))(?:[^\s&-]\S* )*["']?(?:{names})(?=[\s"'\[<=>~]|$)"""
        plan.edit(file, partial(wrap, command=install, prefix=f"{edits.PACKAGE} "))
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
    if "commands" in edits.load_text(text, ".yml").get("build", {}):
        return edits.add_yaml(text, ("build", "commands"), [_INSTALL, publish])
    return edits.add_yaml(text, ("build", "jobs", "post_build"), [publish])
