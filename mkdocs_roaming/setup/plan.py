"""The changes that set up mkdocs-roaming in a project, and the steps that are left to its maintainer."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from functools import partial
from pathlib import Path
from typing import Any

import yaml

from mkdocs_roaming.setup import edits
from mkdocs_roaming.setup.detect import WORKFLOWS, Setup, find_files, find_requirements, read, relative
from mkdocs_roaming.sources.project import OWN_FILE, OWN_TABLE, PLUGIN

_DEPLOYMENTS = (
    WORKFLOWS,
    ".gitlab-ci.yml",
    ".readthedocs.y*ml",
    "netlify.toml",
    "vercel.json",
    "wrangler.toml",
    "wrangler.json*",
)
"""Workflows, and the configurations of hosts."""
_LLMS_PLUGINS = ("llmstxt", "llms-txt", "llms_txt", "plugin-llms")
"""Parts of the names of plugins that write an llms.txt."""
_INSTALL = f"pip install {edits.PACKAGE}"
_PUBLISH = 'roaming index "$READTHEDOCS_OUTPUT/html" --url "$READTHEDOCS_CANONICAL_URL"'

_OTHER_COMMAND = re.compile(r"\b(?:install|add|inject|echo|roaming|name:)|-b (?!html|dirhtml)")
"""A line with the words of a build command that builds no site: `pip install zensical build`, `sphinx-build -b man`."""


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

    def edit(self, file: Path, change: Callable[[str], str], step: str) -> bool:
        """Change the text of a file, and return whether that was possible.

        Args:
            file: The file.
            change: Returns the new text. It raises edits.EditError if it cannot change the old one.
            step: What the maintainer does in this case, with {reason}.
        """
        try:
            text = file.read_bytes().decode() if file.exists() else ""
            new = change(text)
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
            old_name = f"a/{name}" if old else "/dev/null"
            lines += unified_diff(old.splitlines(), new.splitlines(), old_name, f"b/{name}", lineterm="")
        return "\n".join(lines)


def make_plan(setup: Setup) -> Plan:
    """Return the changes to a project."""
    plan = Plan(setup)
    files = find_files((setup.root, setup.work), _DEPLOYMENTS)
    if setup.generator.requirements:
        _add_requirements(plan, files)
        if not setup.url and any("strict" in read(file) for file in (setup.config, *files)):
            plan.doubt = "a strict build stops at the missing site_url"
    if setup.project.block is None:
        _add_options(plan)
    if not setup.url:
        file = setup.config if setup.generator.has_plugins else setup.work / OWN_FILE
        plan.steps.append(f"set site_url, the URL of the site, in {file}")
    if setup.command:
        _describe_builds(plan, files)
    ignored = setup.root / ".gitignore"
    if ignored.exists() and ".cache" not in read(ignored):
        plan.edit(
            ignored, lambda text: f"{text.rstrip()}\n**/.cache/roaming/\n", "ignore **/.cache/roaming/ ({reason})"
        )
    return plan


def _add_options(plan: Plan) -> None:
    """Add the plugin, or the table, with its options."""
    setup = plan.setup
    options = dict[str, Any]()
    file = setup.config
    keys = ["project", "plugins", PLUGIN]
    if not setup.generator.has_plugins:
        file = setup.work / OWN_FILE
        keys = [OWN_TABLE]
        options["site_dir"] = relative(setup.site, setup.work)
    options |= {"widget": True, "page_menu": True}
    if setup.llms_txt:
        options["llms_txt"] = "preamble"
    settings = read(setup.config) + read(setup.work / "package.json")
    if any(mark in settings for mark in _LLMS_PLUGINS):
        options["overwrite"] = True
        plan.steps.append(f"remove the plugin that writes llms.txt, if it is not needed, and `overwrite` from {file}")
    change = partial(edits.add_plugin, options=options)
    lines = f"plugins:\n{edits.render_plugin(options)}"
    if file.suffix == ".toml":
        change = partial(edits.add_table, keys=keys, options=options)
        lines = edits.render_table(keys, options)
    step = f"add to {file}, which is left as it is ({{reason}}):\n\n{lines}"
    if plan.doubt:
        plan.steps.append(step.replace("{reason}", plan.doubt))
    else:
        plan.edit(file, change, step)


def _add_requirements(plan: Plan, deployments: Sequence[Path]) -> None:
    """Add the package to each list that names the generator, because MkDocs stops at a plugin that is not installed.

    A list that cannot be changed raises a doubt.
    """
    setup = plan.setup
    names = setup.generator.requirements
    files = find_requirements(setup.root, setup.work)
    changes = {file: partial(edits.add_requirement, names=names, suffix=file.suffix) for file in files}
    changes |= {file: partial(edits.add_to_installations, names=names) for file in deployments}
    for file, change in changes.items():
        step = f"add {edits.PACKAGE} next to {names[-1]} in {file}, which is left as it is ({{reason}})"
        if not plan.edit(file, change, step):
            plan.doubt = f"{file} lacks {edits.PACKAGE}"
    texts = [plan.new.get(file) or read(file) for file in changes]
    if not any(edits.PACKAGE in text for text in texts):
        plan.steps.append(f"install {edits.PACKAGE} where the site is built: {_INSTALL}")
        builders = [file for file in deployments if setup.generator.name in read(file)]
        if builders:
            plan.doubt = f"nothing shows how {builders[0]} installs {names[-1]}"
    if any(file.name == "pyproject.toml" for file in plan.new):
        plan.steps.append("update the lock file, if there is one, before the next deployment")


# Build commands


def _describe_builds(plan: Plan, files: Sequence[Path]) -> None:
    """Name the lines that build the site, and what to write there.

    Nothing is edited: what a line does depends on its machine, its folder and the steps behind it, which only the
    maintainer knows.
    """
    setup = plan.setup
    build = re.compile(rf"(?:^|[\s/\"'\[])(?:{setup.generator.build})(?![\w-])")
    steps = []
    is_known = False
    for file in files:
        text = read(file)
        is_known |= "roaming " in text
        if setup.generator.name == "sphinx" and ".readthedocs" in file.name:  # its output is published
            key = "commands" if "  commands:" in text else "jobs.post_build"
            if "roaming " not in text:
                steps.append(f"{file}: add to build.{key}: `{_INSTALL}` and `{_PUBLISH}`")
            continue
        command = f"{_INSTALL} && roaming build"
        if ".github" in file.parts:
            command = f"pipx run --spec {edits.PACKAGE} roaming build"
        if setup.work == setup.root and ("cd " in text or "working-directory" in text):
            command += f" --config-file PATH/TO/{OWN_FILE}"
        for number, line in enumerate(text.splitlines(), 1):
            pieces = line.partition("#")[0].split("&&")
            if any(build.search(piece) and not _OTHER_COMMAND.search(piece) for piece in pieces):
                place = f"in front of the command in `{line.strip()}`, unless it is only a check"
                steps.append(f"{file}:{number}: write `{command} --` {place}")
    plan.steps += steps
    if not steps and not is_known:
        plan.steps.append(
            "no workflow or host's configuration shows which command builds the site; "
            f"where that happens, run: {_INSTALL} && roaming build -- {setup.command}"
        )
