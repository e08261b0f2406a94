"""The changes that set up mkdocs-roaming in a project, and the steps that are left to its maintainer."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
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

_INSTALLER = r"(?m)^[^#\n]*(?:install|add|inject|--with|--from)\b[^#;&|\n]*"
"""A command that installs something: `pip install`, `uv add`, `pipx inject`, `uvx --with`."""
_OTHER_COMMAND = re.compile(r"\b(?:install|add|inject|echo|roaming|name:)|-b (?!html|dirhtml)")
"""A line with the words of a build command that builds no site: `pip install zensical build`, `sphinx-build -b man`."""


@dataclass(slots=True)
class Plan:
    """The new texts of changed files, and the steps that are left to the maintainer.

    Attributes:
        setup: The project.
        new: The new text of each changed file.
        steps: What the maintainer does.
    """

    setup: Setup
    new: dict[Path, str] = field(default_factory=dict)
    steps: list[str] = field(default_factory=list)

    def edit(self, file: Path, change: Callable[[str], str], step: str) -> None:
        """Change the text of a file.

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
            return
        if new != text:
            self.new[file] = new

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
        _describe_requirements(plan, files)
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
    plan.edit(file, change, step)


def _describe_requirements(plan: Plan, deployments: Iterable[Path]) -> None:
    """Name the files that list or install the generator: MkDocs stops at a plugin that is not installed there."""
    setup = plan.setup
    name = rf"(?<![\w./-])(?:{'|'.join(setup.generator.requirements)})(?![\w./-])"
    patterns = dict.fromkeys(find_requirements(setup.root, setup.work), rf"(?m)^[^#\n]*{name}(?![ \t]+\w)")
    patterns |= dict.fromkeys(deployments, rf"{_INSTALLER}{name}(?!\s+(?:build|gh-deploy|serve))")
    texts = {file: read(file) for file in patterns}
    users = [file for file, text in texts.items() if edits.PACKAGE in text]
    lists = [
        relative(file, setup.root)
        for file, pattern in patterns.items()
        if file not in users and re.search(pattern, texts[file])
    ]
    step = f"add {edits.PACKAGE} next to {setup.generator.title}, because the build stops without the plugin"
    if lists:
        plan.steps.append(f"{step}: {', '.join(lists)}")
    elif not users:
        plan.steps.append(f"{step}: {_INSTALL}")


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
