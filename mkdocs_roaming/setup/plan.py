"""The changes that set up mkdocs-roaming in a project, and the steps that are left to its maintainer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from mkdocs_roaming.setup import edits
from mkdocs_roaming.setup.deployments import Build, find_builds, find_deployments, find_sphinx_output
from mkdocs_roaming.setup.detect import Setup, find_requirements, read, relative
from mkdocs_roaming.sources.project import OWN_FILE, OWN_TABLE, PLUGIN

_LOCKS = {"uv.lock": "uv lock", "poetry.lock": "poetry lock", "pdm.lock": "pdm lock"}
_INSTALL = f"pip install {edits.PACKAGE}"
_PUBLISH = 'roaming index "$READTHEDOCS_OUTPUT/html" --url "$READTHEDOCS_CANONICAL_URL"'


@dataclass(slots=True)
class Plan:
    """The new texts of changed files, and the steps that are left to the maintainer.

    Attributes:
        setup: The project.
        new: The new text of each changed file.
        steps: What the maintainer does.
        doubt: Why a deployment may lack the package, so that it would stop at the plugin; empty if none does.
    """

    setup: Setup
    new: dict[Path, str] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)
    doubt: str = ""

    def read(self, file: Path) -> str:
        """Return the new text of a file, which may be missing."""
        return self.new.get(file) or read(file)

    def edit(self, file: Path, change: Callable[[str], str], step: str = "") -> bool:
        """Change the text of a file, and return whether that was possible.

        Args:
            file: The file.
            change: Returns the new text. It raises edits.EditError if it cannot change the old one.
            step: What the maintainer does in this case, with {reason}.
        """
        try:
            text = file.read_bytes().decode() if file.exists() else ""
            new = change(text)
            if new != text and file.exists() and not file.stat().st_mode & 0o222:
                raise edits.EditError("it is read-only")
        except (edits.EditError, OSError, UnicodeError, yaml.YAMLError) as error:
            self.steps.append(step.replace("{reason}", " ".join(str(error).split())))
            return False
        if new != text:
            self.new[file] = new
        return True

    @property
    def diff(self) -> str:
        """The changes as a unified diff."""
        lines: list[str] = []
        for file, new in self.new.items():
            old = file.read_text("utf-8") if file.exists() else ""
            name = relative(file, self.setup.root)
            names = (f"a/{name}" if old else "/dev/null", f"b/{name}")
            lines += unified_diff(old.splitlines(), new.splitlines(), *names, lineterm="")
        return "\n".join(lines)


def make_plan(setup: Setup) -> Plan:
    """Return the changes to a project."""
    files = find_deployments(setup)
    builds = [build for file in files for build in find_builds(setup, file)] if setup.command else []
    if setup.generator.name == "sphinx" and not setup.project.site:
        outputs = [
            find_sphinx_output(setup, command) for command in (*(build.command for build in builds), "make html")
        ]
        setup = replace(setup, site=next(filter(None, outputs), setup.site))
    plan = Plan(setup)
    has_url = setup.has_url or bool(setup.url)
    if setup.generator.requirements:
        _add_requirements(plan, files)
        if not has_url and any("strict" in read(file) for file in (setup.config, *files)):
            plan.doubt = "a strict build stops at the missing site_url"
    if setup.project.block is None:
        _add_options(plan)
    if not has_url:
        file = setup.config if setup.generator.has_plugins else setup.work / OWN_FILE
        plan.steps.append(f"set site_url, the URL of the site, in {file}")
    if setup.command:
        _describe_builds(plan, files, builds)
    ignored = setup.root / ".gitignore"
    if ignored.exists() and ".cache" not in read(ignored):
        plan.edit(
            ignored, lambda text: f"{text.rstrip()}\n**/.cache/roaming/\n", "ignore **/.cache/roaming/ ({reason})"
        )
    return plan


def _add_options(plan: Plan) -> None:
    """Add the plugin, or the table, with its options."""
    setup = plan.setup
    options = dict[str, Any](widget=True, page_menu=True)
    file = setup.config
    keys = ["project", "plugins", PLUGIN]
    if setup.llms_txt:
        options["llms_txt"] = "preamble"
    if setup.llms_plugins:
        options["overwrite"] = True
    if not setup.generator.has_plugins:
        url = {} if setup.has_url or not setup.url else {"site_url": setup.url}
        file = setup.work / OWN_FILE
        keys = [OWN_TABLE]
        options = {"site_dir": relative(setup.site, setup.work), **url, **options}
    if setup.llms_plugins:
        name = setup.llms_plugins[0]
        plan.steps.append(
            f"if {name}, whose llms.txt is overwritten, is not needed, remove it and `overwrite` from {file}"
        )
    is_toml = file.suffix == ".toml"

    def change(text: str) -> str:
        if plan.doubt:
            raise edits.EditError(plan.doubt)
        return edits.add_table(text, keys, options) if is_toml else edits.add_plugin(text, options)

    lines = edits.render_table(keys, options) if is_toml else f"plugins:\n{edits.render_plugin(options)}"
    plan.edit(file, change, f"add to {file}, which is left as it is ({{reason}}):\n\n{lines}")


def _add_requirements(plan: Plan, deployments: Sequence[Path]) -> None:
    """Add the package to each list that names the generator, because MkDocs stops at a plugin that is not installed.

    A list that cannot be changed raises a doubt.
    """
    setup = plan.setup
    names = plan.setup.generator.requirements
    files = find_requirements(setup.root, setup.work)
    changes = {file: partial(edits.add_requirement, names=names, suffix=file.suffix) for file in files}
    changes |= {file: partial(edits.add_to_installations, names=names) for file in deployments}
    for file, change in changes.items():
        step = f"add {edits.PACKAGE} next to {names[-1]} in {file}, which is left as it is ({{reason}})"
        if not plan.edit(file, change, step):
            plan.doubt = f"{file} lacks {edits.PACKAGE}"
    if not any(edits.PACKAGE in plan.read(file) for file in changes):
        plan.steps.append(f"install {edits.PACKAGE} where the site is built: {_INSTALL}")
        builders = [file for file in deployments if re.search(rf"\b{setup.generator.name}\b", read(file))]
        plan.doubt = f"nothing shows how {builders[0]} installs {names[-1]}" if builders else plan.doubt
    if any(file.suffix == ".toml" and file in files for file in plan.new):
        locks = [command for name, command in _LOCKS.items() if (setup.root / name).exists()]
        plan.steps += [f"update the lock file before the next deployment: {command}" for command in locks]


def _describe_builds(plan: Plan, files: Sequence[Path], builds: Sequence[Build]) -> None:
    """Name the lines that build the site, and what to write there."""
    setup = plan.setup
    is_known = any(re.search(r"\broaming (?:build|index)\b", read(file)) for file in files)
    for build in builds:
        prefix = f"{_INSTALL} && roaming"
        if ".github" in build.file.parts:
            prefix = f"pipx run --spec {edits.PACKAGE} roaming"
        options = "" if setup.generator.has_plugins else _find_options(setup, build)
        is_only = [other.file for other in builds].count(build.file) == 1
        hint = "" if build.is_deployed and is_only else "; skip this where it is only a check"
        plan.steps.append(
            f"{build.file}:{build.number}: write `{prefix} build{options} -- {build.command}` "
            f"instead of `{build.command}`{hint}"
        )
    for file in files:
        if setup.generator.name == "sphinx" and ".readthedocs" in file.name and "roaming " not in read(file):
            key = "commands" if re.search(r"(?m)^  commands:", read(file)) else "jobs.post_build"
            plan.steps.append(f"{file}: add to build.{key}: `{_INSTALL}` and `{_PUBLISH}`")
            is_known = True
    if not builds and not is_known:
        plan.steps.append(
            "no workflow or host's configuration shows which command builds the site; "
            f"where that happens, run: {_INSTALL} && roaming build -- {setup.command}"
        )


def _find_options(setup: Setup, build: Build) -> str:
    """Return the options of a command that writes another folder, or may run elsewhere than next to roaming.toml."""
    output = find_sphinx_output(setup, build.command)
    option = f" --site-dir {relative(output, setup.work)}" if output and output != setup.site else ""
    if setup.work == setup.root and re.search(r"\bcd\b|working-directory", read(build.file)):
        option += f" --config-file PATH/TO/{OWN_FILE}"
    return option
