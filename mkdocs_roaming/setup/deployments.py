"""The lines of workflows and hosts' configurations that build a site.

Nothing is executed or edited: what a line does depends on its machine, its folder and the steps behind it, which only
the maintainer knows.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from mkdocs_roaming.setup.detect import WORKFLOWS, Setup, find_files, read, relative

_PATTERNS = (
    WORKFLOWS,
    ".gitlab-ci.yml",
    ".readthedocs.y*ml",
    "netlify.toml",
    "vercel.json",
    "wrangler.toml",
    "wrangler.json*",
)
_COMMENT = re.compile(r"(?:^|\s)(?:#|//).*")
_SEPARATOR = re.compile(r"""[;&|(){}\[\]"',]""")
_KEY = re.compile(r"\s*(?:-\s+)?(?:(\w+)\s*[:=]\s*)?")
_OTHER_COMMANDS = re.compile(r"\b(?:install|add|inject|echo|roaming)\b|\s-b\s*(?!html|dirhtml)\w+")
_MAKE = r"make\b.*\b(?:dir)?html"
_RUNNERS = "npm|yarn|pnpm|bun"


@dataclass(frozen=True, slots=True)
class Build:
    """A command that seems to build the site.

    Attributes:
        file: The workflow, or the configuration of a host.
        number: The number of its line.
        command: The command.
        is_deployed: Whether another line of the file names the built folder.
    """

    file: Path
    number: int
    command: str
    is_deployed: bool


def find_deployments(setup: Setup) -> list[Path]:
    """Return the workflows, and the configurations of hosts."""
    return find_files((setup.root, setup.work), _PATTERNS)


def find_builds(setup: Setup, file: Path) -> Iterator[Build]:
    """Yield the commands in a file that seem to build the site."""
    is_sphinx_at_host = setup.generator.name == "sphinx" and ".readthedocs" in file.name  # its output is published
    lines = [] if is_sphinx_at_host else read(file).splitlines()
    build = re.compile(rf"(?:^|[\s/])(?:{'|'.join(_find_patterns(setup))})(?![\w-])")
    for number, line in enumerate(lines, 1):
        for piece in _SEPARATOR.split(_COMMENT.sub("", line)):
            key = _KEY.match(piece)
            command = piece[key.end() :].strip() if key else ""
            if key and key[1] != "name" and build.search(command) and not _OTHER_COMMANDS.search(command):
                site = find_sphinx_output(setup, command) or setup.site
                others = "\n".join([*lines[: number - 1], *lines[number:]])
                is_deployed = re.search(rf"(?<![\w-]){re.escape(site.name)}(?![\w-])", others) is not None
                yield Build(file, number, command, is_deployed)


def _find_patterns(setup: Setup) -> Iterator[str]:
    """Yield patterns of the commands that build the site: of the generator, and of the scripts that call it."""
    program = " ".join(setup.generator.program)
    yield program
    if setup.generator.name == "sphinx":
        yield from ("-m sphinx", _MAKE)
    packages = "\n".join(read(folder / "package.json") for folder in dict.fromkeys((setup.work, setup.root)))
    for script in re.findall(rf'"([\w:.-]+)"\s*:\s*"[^"]*\b{program}', packages):
        yield rf"(?:{_RUNNERS})\b.*[\s:]{re.escape(script)}"


def find_sphinx_output(setup: Setup, command: str) -> Path | None:
    """Return the folder that a command of Sphinx, or make, writes; None if it names none."""
    docs = relative(setup.docs, setup.root)
    if found := re.search(rf"sphinx.*?\s(-M html )?{re.escape(docs)}/?\s+([\w./-]+)", command):
        return setup.root / found[2] / ("html" if found[1] else "")
    target = re.search(_MAKE, command)
    for folder in (setup.docs, setup.docs.parent):
        output = re.search(r"(?m)^BUILDDIR\s*[:?]?=\s*(\S+)", read(folder / "Makefile"))
        if output and target:
            return folder / output[1] / target[0].split()[-1]
    return None
