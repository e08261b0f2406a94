"""Deployments: the commands that workflows and hosts run, in order, and the folder in which one builds the site.

Nothing is executed. Where a text cannot be understood (a here-document, a variable, another language), no command is
returned, so that a caller never takes one for another.
"""

from __future__ import annotations

import io
import posixpath
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path, PurePosixPath
from typing import Any

from mkdocs_roaming.setup.detect import Setup, read, relative
from mkdocs_roaming.setup.edits import EditError, load_text

_SCRIPT_KEYS = {"run", "script", "command", "commands", "buildCommand", "jobs"}  # `jobs` are those of Read the Docs
_FOLDER_KEYS = ("working-directory", "base", "cwd")
_OTHER_KEYS = {*_FOLDER_KEYS, "name"}
_OPERATORS = frozenset("();&|\n")
_UNKNOWN = "$"
# Words that run the command behind them, and those of them whose options may have values.
_LAUNCHERS = {"run", "exec", "dlx", "npx", "pnpx", "bunx", "uvx", "-m"}
_RUNNERS = _LAUNCHERS | {"uv", "poetry", "pdm", "pipenv", "hatch", "rye", "pixi", "pipx", "tool", "pnpm", "yarn", "bun"}
_RUNNERS |= {"python", "bash", "sh", "sudo", "env"}
# In front of a command, these belong to the shell, as variables do.
_SHELL_WORD = re.compile(r"if|then|elif|else|while|until|do|time|exec|command|[!{]|\w+=.*", re.DOTALL)
_PACKAGE_OPTIONS = {"--with", "--from", "--spec", "--package", "-p"}
_OUTPUT_OPTIONS = {"-d", "--dest-dir", "--out-dir", "--outDir"}
_TASK_RUNNERS = {"make", "npm", "yarn", "pnpm", "bun"}
_TASK_FOLDER_OPTIONS = {"-C", "--cwd", "--dir", "--prefix"}
_OTHER_PACKAGES = ("--filter", "-F", "--workspace", "-w")
_MAX_DEPTH = 5


@dataclass(frozen=True, slots=True)
class Step:
    """A simple command, or another value of a job, such as the folder that an action uploads.

    Attributes:
        words: The words of the command, or the value.
        folder: The working directory, relative to the root of the repository; with `$` if it is not known.
        is_command: Whether it is a command.
        before: What the shell has in front of the command: an operator, or words such as `then` and `LANG=C`.
        job: The number of its job.
        install: How the job gets `roaming` in front of a command; empty if that is not known.
    """

    words: tuple[str, ...]
    folder: str
    is_command: bool = True
    before: str = field(default="", compare=False)
    job: int = 0
    install: str = ""

    def names(self, folder: str, sources: str = "") -> bool:
        """Return whether a word is a folder or in it, or is one that contains it, but not the sources."""
        paths = {f"{_join(start, word)}/" for word in self.words for start in (".", self.folder)}
        inner = {path for path in paths if not f"{sources}/".startswith(path)} - {"./"}
        return any(path.startswith(f"{folder}/") or f"{folder}/".startswith(path) for path in inner)


def read_steps(text: str, file: Path) -> list[Step]:
    """Return the steps of all jobs in a workflow, or in a host's configuration.

    Raises:
        EditError: The text is invalid.
    """
    data, folder = load_text(text, file.suffix), "."
    jobs = [data]
    if isinstance(data.get("jobs"), Mapping):
        jobs, folder = list(data["jobs"].values()), _find_folder(data, ".")
    elif file.name.startswith(".gitlab-ci"):
        jobs = list(data.values())
    steps: list[Step] = []
    for number, job in enumerate(jobs):
        if isinstance(job, Mapping):
            install = _find_install(file, data | job)
            steps += [replace(step, job=number, install=install) for step in _walk(job, folder)]
    return steps


def _find_install(file: Path, job: Mapping[str, Any]) -> str:
    """Return how a job gets `roaming`: the machines of GitHub have pipx, those of hosts pip."""
    if ".github" in file.parts:
        is_known = "container" not in job and "self-hosted" not in str(job.get("runs-on"))
        return "pipx run --spec mkdocs-roaming roaming" if is_known else ""
    is_known = not file.name.startswith(".gitlab-ci") or "python" in str(job.get("image"))
    return "pip install mkdocs-roaming && roaming" if is_known else ""


def _find_folder(settings: Mapping[str, Any], folder: str) -> str:
    """Return the working directory of the commands below a mapping."""
    for key in ("defaults", "run"):
        inner = settings.get(key)
        settings = inner if isinstance(inner, Mapping) else settings
    names = [value for key in _FOLDER_KEYS if isinstance(value := settings.get(key), str)]
    return _join(folder, *names[:1])


def _walk(node: Any, folder: str, *, is_script: bool = False) -> Iterator[Step]:
    if isinstance(node, Mapping):
        folder = _find_folder(node, folder)
        for key, value in node.items():
            if key not in _OTHER_KEYS:
                yield from _walk(value, folder, is_script=is_script or key in _SCRIPT_KEYS)
    elif isinstance(node, list) and is_script and all(isinstance(line, str) for line in node):
        yield from parse_shell("\n".join(node), folder)
    elif isinstance(node, list):
        for item in node:
            yield from _walk(item, folder, is_script=is_script)
    elif isinstance(node, str) and is_script:
        yield from parse_shell(node, folder)
    elif isinstance(node, str):
        yield from (Step((line,), folder, is_command=False) for line in node.splitlines())


class _Lines(io.StringIO):
    """A text whose `readline` leaves the line break, so that a comment does not join two lines."""

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        """Return the rest of the line."""
        line = super().readline()
        if line.endswith("\n"):
            self.seek(self.tell() - 1)
        return line


def parse_shell(text: str, folder: str) -> Iterator[Step]:
    """Yield the simple commands of a shell script in order; none if it contains a here-document."""
    if "<<" in text:
        return
    text = re.sub(r"\$\{\{.*?\}\}", _UNKNOWN, text.replace("\\\n", " "))
    lexer = shlex.shlex(_Lines(text + "\n"), posix=True, punctuation_chars="".join(_OPERATORS))
    lexer.whitespace = " \t\r"
    lexer.whitespace_split = True
    words: list[str] = []
    outer: list[str] = []
    before = ""
    try:
        for token in lexer:
            if not token or not _OPERATORS.issuperset(token):
                if words or not _SHELL_WORD.fullmatch(token):
                    words.append(token)
                else:
                    before += token
                continue
            if words:
                yield Step(tuple(words), folder, before=before)
                if words[0] in ("cd", "pushd", "popd"):
                    folder = _join(folder, " ".join(words[1:]) or _UNKNOWN)
            words = []
            before = token
            outer += [folder] * token.count("(")
            for _ in range(min(token.count(")"), len(outer))):
                folder = outer.pop()
    except ValueError:  # a quotation mark is missing
        return


def _join(folder: str, *paths: str) -> str:
    return posixpath.normpath(posixpath.join(folder, *paths))


# Builds


def find_output(step: Step, setup: Setup, depth: int = _MAX_DEPTH) -> str:
    """Return the folder into which a command builds the site, relative to the root; empty if it is not known to."""
    before = ""
    for index, word in enumerate(step.words if step.is_command and depth else ()):
        words = list(step.words[index:])
        if before not in _PACKAGE_OPTIONS:
            output = _find_own_output(words, step.folder, setup)
            if output := output or _find_task_output(words, step.folder, setup, depth):
                return "" if _UNKNOWN in output else output
        is_value = before.startswith("-") and not _LAUNCHERS.isdisjoint(step.words[:index])
        if not is_value and not word.startswith("-") and "=" not in word and _program(word) not in _RUNNERS:
            return ""
        before = word
    return ""


def _program(word: str) -> str:
    return PurePosixPath(word).name.rstrip("0123456789.")


def _find_own_output(words: list[str], folder: str, setup: Setup) -> str:
    """Return the folder that a command of the generator writes."""
    docs, program = relative(setup.docs, setup.root), setup.generator.program
    if setup.generator.name == "sphinx":
        is_build = _program(words[0]) in ("sphinx-build", "sphinx")  # as a module it has its own name
        return _find_sphinx_output(words, folder, docs) if is_build else ""
    if not program or (_program(words[0]), *words[1 : len(program)]) != program:
        return ""
    paths = {_join(folder, word) for word in ("", *words[len(program) :])}
    pairs = pairwise([part for word in words for part in word.split("=", 1)])
    if outputs := [value for option, value in pairs if option in _OUTPUT_OPTIONS]:
        return _join(folder, outputs[-1]) if folder == docs else ""
    return relative(setup.site, setup.root) if paths & {docs, relative(setup.config, setup.root)} else ""


def _find_sphinx_output(words: list[str], folder: str, docs: str) -> str:
    """Return the folder that sphinx-build writes HTML to: it is named behind the folder of the sources."""
    builders = [value for option, value in pairwise(words) if option in ("-b", "--builder", "-M")]
    builders += [word[2:] for word in words if re.fullmatch(r"-b\w+", word)]
    sources = [index for index, word in enumerate(words[:-1]) if index and _join(folder, word) == docs]
    if not set(builders) <= {"html", "dirhtml"} or not sources or words[sources[-1] + 1].startswith("-"):
        return ""
    output = _join(folder, words[sources[-1] + 1])
    return f"{output}/{builders[0]}" if "-M" in words else output


def _find_task_output(words: list[str], folder: str, setup: Setup, depth: int) -> str:
    """Return the folder that a script or a task builds, if it does nothing with the folder afterwards."""
    text = read(setup.root / folder / words[0]) if words[0].endswith(".sh") else ""
    if words[0] in _TASK_RUNNERS:
        text, folder = _find_task(words, folder, setup.root)
    output = ""
    for step in parse_shell(text, folder):
        if output and step.names(output):
            return ""
        output = output or find_output(step, setup, depth - 1)
    return output


def _find_task(words: list[str], folder: str, root: Path) -> tuple[str, str]:
    """Return the script of a target in a Makefile or of package.json, and the folder in which it runs."""
    folders = [value for option, value in pairwise(words) if option in _TASK_FOLDER_OPTIONS]
    folder = _join(folder, *folders[:1])
    names = [word for word in words[1:] if word not in ("run", *folders) and not re.search(r"^-|=", word)]
    if not names or any(word.startswith(_OTHER_PACKAGES) for word in words):
        return "", folder
    if words[0] == "make":
        return _read_rule(read(root / folder / "Makefile"), names[0]), folder
    try:
        scripts = load_text(read(root / folder / "package.json"), ".json").get("scripts")
    except EditError:
        return "", folder
    return str(scripts.get(names[0], "")) if isinstance(scripts, dict) else "", folder


def _read_rule(text: str, target: str) -> str:
    """Return the recipe of a target in a Makefile, with its variables expanded; each line has a shell of its own."""
    rule = re.search(rf"(?m)^(?:{re.escape(target)}|%)\s*:.*\n((?:\t.*\n?)+)", text)
    recipe = rule[1].replace("\\\n", " ").replace("$@", target) if rule else ""
    variables = {"MAKE": "make", **dict(re.findall(r"(?m)^(\w+)\s*[:?]?=[ \t]*(.*?)\s*$", text))}
    for _ in range(_MAX_DEPTH):
        recipe = re.sub(r"\$[({](\w+)[)}]", lambda name: variables.get(name[1], ""), recipe)
    return re.sub(r"(?m)^\t[@-]*(.*)$", r"(\1)", recipe)
