"""The changes that set up mkdocs-roaming in a project: configuration, requirements, workflows and hosts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from difflib import unified_diff
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import yaml

from mkdocs_roaming.setup import edits
from mkdocs_roaming.setup.detect import Setup, find_requirements, read, relative
from mkdocs_roaming.setup.steps import Step, find_output, parse_shell, read_steps
from mkdocs_roaming.sources.project import OWN_FILE, OWN_TABLE, PLUGIN

_WORKFLOWS = (".github/workflows/*.y*ml", ".gitlab-ci.yml", ".readthedocs.y*ml")
_DEPLOYMENTS = (*_WORKFLOWS, "netlify.toml", "vercel.json", "wrangler.toml", "wrangler.json*")
_LOCKS = {"uv.lock": "uv lock", "poetry.lock": "poetry lock", "pdm.lock": "pdm lock"}
_PUBLISH = 'roaming index "$READTHEDOCS_OUTPUT/html" --url "$READTHEDOCS_CANONICAL_URL"'
_INSTALL = f"pip install {edits.PACKAGE}"


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
            text = self.new.get(file) or (file.read_bytes().decode() if file.exists() else "")
            new = change(text)
            if new != text and file.exists() and not file.stat().st_mode & 0o222:
                raise edits.EditError("it is read-only")
        except (edits.EditError, OSError, UnicodeError, yaml.YAMLError) as error:
            if step:
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


@dataclass(frozen=True, slots=True)
class Build:
    """A command that builds the site.

    Attributes:
        file: The workflow, or the configuration of a host.
        index: The index of the command among the steps of the file.
        step: The command.
        output: The folder that it writes, relative to the root.
        is_deployed: Whether a later step, or a setting, of its job names this folder.
    """

    file: Path
    index: int
    step: Step
    output: str
    is_deployed: bool


def make_plan(setup: Setup) -> Plan:
    """Return the changes to a project."""
    files = _find_deployments(setup)
    builds = [build for file in files for build in _find_builds(setup, file)]
    if not setup.project.site:
        setup = replace(setup, site=_find_site(setup, builds))
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
    for build in reversed(builds):  # an earlier step keeps its index
        _wrap(plan, build)
    for file in setup.root.glob(".readthedocs.y*ml") if setup.generator.name == "sphinx" else ():
        plan.edit(file, _publish_on_read_the_docs)
    if setup.command and not builds and not any("roaming " in plan.read(file) for file in files):
        plan.steps.append(
            "no workflow or host's configuration shows which command builds the site; "
            f"where that happens, run: {_INSTALL} && roaming build -- {setup.command}"
        )
    _ignore_cache(plan)
    return plan


def _find_site(setup: Setup, builds: list[Build]) -> Path:
    """Return the folder that is deployed; without a deployment that of a Makefile, or the default of the generator."""
    outputs = [build.output for build in sorted(builds, key=lambda build: not build.is_deployed)]
    makefiles = [relative(folder, setup.root) for folder in (setup.docs, setup.docs.parent)]
    outputs += [find_output(Step(("make", "html"), folder), setup) for folder in makefiles]
    return next((setup.root / output for output in outputs if output), setup.site)


def _ignore_cache(plan: Plan) -> None:
    file = plan.setup.root / ".gitignore"
    if file.exists() and ".cache" not in read(file):
        plan.edit(file, lambda text: f"{text.rstrip()}\n**/.cache/roaming/\n")


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
        name = setup.llms_plugins[0]
        plan.steps.append(
            f"if {name}, whose llms.txt is overwritten, is not needed, remove it and `overwrite` from {file}"
        )

    def change(text: str) -> str:
        if plan.doubt:
            raise edits.EditError(plan.doubt)
        return edits.add_table(text, keys, options) if file.suffix == ".toml" else edits.add_plugin(text, options)

    lines = edits.add_yaml("plugins:\n", ("plugins",), [{PLUGIN: options}])
    if file.suffix == ".toml":
        lines = edits.add_table("", keys, options)
    step = f"add to {file}, which is left as it is ({{reason}}):\n\n{lines}"
    plan.edit(file, change, step)


# Requirements: without the package MkDocs stops at the plugin


def _add_requirements(plan: Plan, deployments: list[Path]) -> None:
    """Add the package to each list that names the generator; a list that cannot be changed raises a doubt."""
    setup, names = plan.setup, plan.setup.generator.requirements
    files = find_requirements(setup.root, setup.work)
    changes = {file: partial(edits.add_requirement, names=names, suffix=file.suffix) for file in files}
    changes |= {file: partial(_add_to_installations, file=file, names=names) for file in deployments}
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


def _add_to_installations(text: str, file: Path, names: tuple[str, ...]) -> str:
    """Return a workflow whose commands install the package where they install the generator.

    Raises:
        EditError: A command installs the generator in another way than pip.
    """
    for index, step in enumerate(read_steps(text, file)):
        found = [at for at, word in enumerate(step.words) if edits.read_requirement(word) in names]
        command = step.words[: found[0]] if found else ()
        if edits.PACKAGE in step.words or not {"install", "inject", "add", "--with", "--from"}.intersection(command):
            continue
        if ("pip", "install") not in pairwise(word.rstrip("3") for word in command):
            raise edits.EditError(f"`{shlex.join(step.words)}` does not use pip")
        place, *rest = step.words[found[0] :]
        changed = replace(step, words=(*command, edits.PACKAGE, place, *rest))
        text = _replace(text, file, index, [changed], f"{edits.PACKAGE} ", place)
    return text


def _replace(text: str, file: Path, index: int, steps: list[Step], addition: str, word: str) -> str:
    """Insert text in front of a word of a workflow, where that replaces one step by others and changes nothing else.

    Raises:
        EditError: There is no such place.
    """
    expected = read_steps(text, file)
    expected[index : index + 1] = steps
    return edits.insert(text, addition, word, lambda new: read_steps(new, file) == expected)


# Builds


def _find_deployments(setup: Setup) -> list[Path]:
    """Return the workflows, and the configurations of hosts."""
    folders = dict.fromkeys((setup.root, setup.work))
    files = [file for pattern in _DEPLOYMENTS for folder in folders for file in sorted(folder.glob(pattern))]
    return list(dict.fromkeys(files))


def _find_builds(setup: Setup, file: Path) -> Iterator[Build]:
    """Yield the commands in a file that build the site."""
    try:
        steps = read_steps(read(file), file)
    except edits.EditError:
        return
    sources = relative(setup.docs, setup.root)
    for index, step in enumerate(steps):
        if output := find_output(step, setup):
            others = [other for at, other in enumerate(steps) if at > index or not other.is_command]
            is_deployed = any(other.job == step.job and other.names(output, sources) for other in others)
            yield Build(file, index, step, output, is_deployed)


def _wrap(plan: Plan, build: Build) -> None:
    """Put `roaming build --` in front of a build command; say how, where its output is not seen to be deployed."""
    setup, folder = plan.setup, plan.setup.root / build.step.folder
    options = ""
    if not setup.generator.has_plugins and folder.resolve() != setup.work.resolve():
        options += f" --config-file {relative(setup.work / OWN_FILE, folder)}"
    if setup.root / build.output != setup.site:
        options += f" --site-dir {relative(setup.root / build.output, folder)}"
    prefix = f"{build.step.install or f'{_INSTALL} && roaming'} build{options} -- "

    def change(text: str) -> str:
        if not build.step.install:
            raise edits.EditError("its machine is not known")
        if "&&" in prefix and build.step.before.strip("&;(\n"):
            raise edits.EditError(f"`{build.step.before}` in front of it is for one command")
        if not build.is_deployed:
            raise edits.EditError(f"nothing behind it names {build.output}: skip this if it is a check")
        steps = [replace(build.step, words=step.words) for step in parse_shell(prefix, build.step.folder)]
        steps[-1] = replace(build.step, words=(*steps[-1].words, *build.step.words))
        return _replace(text, build.file, build.index, steps, prefix, build.step.words[0])

    command = shlex.join(build.step.words)
    plan.edit(build.file, change, f"in {build.file}, write `{prefix}{command}` instead of `{command}` ({{reason}})")


def _publish_on_read_the_docs(text: str) -> str:
    """Return the configuration of Read the Docs with commands that publish the output of Sphinx."""
    if _PUBLISH in text:
        return text
    build = edits.load_text(text, ".yml").get("build")
    is_own = isinstance(build, dict) and "commands" in build
    keys = ("build", "commands") if is_own else ("build", "jobs", "post_build")
    return edits.add_yaml(text, keys, [_INSTALL, _PUBLISH])
