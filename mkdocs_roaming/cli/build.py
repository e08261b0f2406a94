"""`roaming build`: run the site generator, then publish what it has built."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from importlib.metadata import entry_points
from itertools import pairwise
from pathlib import Path
from typing import Any

import click

from mkdocs_roaming.cli.common import AS_JSON, FOLDER, SIGNAL_EXIT, warn
from mkdocs_roaming.cli.index import make_options, publish, publishing_options
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.locks import hold_folder, share_locks
from mkdocs_roaming.publish.ownership import PublishedFiles
from mkdocs_roaming.setup.detect import MKDOCS_GENERATORS, find_required
from mkdocs_roaming.sources.project import Project, find_project

_GENERATORS = {"zensical.toml": ("zensical",), "properdocs.yml": ("properdocs",), "properdocs.yaml": ("properdocs",)}
_PLUGIN_HOSTS = ("mkdocs", "properdocs")


@click.command()
@click.argument("command", nargs=-1, type=click.UNPROCESSED, metavar="[-- COMMAND...]")
@click.option(
    "--site-dir",
    type=FOLDER,
    metavar="DIR",
    help="Folder that the command writes (default: site_dir of the configuration).",
)
@publishing_options
@AS_JSON
def build(command: tuple[str, ...], site_dir: Path | None, as_json: bool, **given: Any) -> None:
    """Build a site with its generator, and publish it.

    COMMAND builds the site; by default zensical build, mkdocs build or properdocs build, by the configuration file in
    the working directory and by what is installed and required. Its output is unchanged. If it fails, nothing is
    published, and the exit code is its own.
    """
    config_file = given["config_file"] or _find_path(command, "-f", "--config-file")
    project = find_project(None, config_file, warn)
    site_dir = site_dir or _find_path(command, "-d", "--site-dir") or project.site
    project.parse_options({})
    arguments = list(command) or [*_find_generator(project), *(["-f", str(config_file)] if config_file else [])]
    if site_dir is None:
        raise UsageError(
            "no folder to publish: name the folder that the command writes with --site-dir, or let `roaming init` "
            "write roaming.toml"
        )
    options = make_options(site_dir, project, given)  # invalid options are reported before the site is built
    share_locks()
    with hold_folder(site_dir, warn):  # before the generator empties it
        if status := _run(arguments):
            sys.exit(status)
        if not _is_published_by_plugin(site_dir, project, arguments):
            publish(site_dir, options, given, as_json=as_json)


def _find_path(command: Sequence[str], *names: str) -> Path | None:
    """Return the value of an option in the command of MkDocs, ProperDocs or Zensical."""
    if not any(Path(word).stem in MKDOCS_GENERATORS for word in command):
        return None
    values = [value for name, value in pairwise(command) if name in names]
    values += [word.partition("=")[2] for word in command if word.partition("=")[0] in names and "=" in word]
    return Path(values[-1]) if values else None


def _find_generator(project: Project) -> list[str]:
    """Return the build command of an installed generator: the one that the project requires, if several can build it.

    Raises:
        UsageError: There is no such generator.
    """
    hint = "name its build command, such as: roaming build -- zensical build"
    if project.generator is None:
        raise UsageError(f"no zensical.toml or mkdocs.yml in {Path.cwd()}; to build with another generator, {hint}")
    names = _GENERATORS.get(project.generator.name, MKDOCS_GENERATORS)
    installed = [name for name in names if _which(name) and (name != "mkdocs" or _has_theme(project.theme))]
    if not installed:
        why = f" or the theme {project.theme!r}" if "mkdocs" in names else ""
        raise UsageError(f"{project.generator}: {' or '.join(names)}{why} is not installed; install it, or {hint}")
    required = find_required(project.generator.parent) if len(installed) > 1 else set()
    chosen = [name for name in installed if name in required] or installed
    if len(chosen) > 1:
        commands = " or ".join(f"roaming build -- {name} build" for name in chosen[1:])
        click.echo(f"{project.generator}: built with {chosen[0]}; to use another generator: {commands}", err=True)
    return [chosen[0], "build"]


def _has_theme(name: str) -> bool:
    """Return whether a theme of MkDocs is installed: MkDocs itself always is, because this package needs it."""
    return name in entry_points(group="mkdocs.themes").names


def _which(name: str) -> str | None:
    """Return the path of a program, from the environment of this command or the search path."""
    return shutil.which(name, path=os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")]))


def _run(command: Sequence[str]) -> int:
    """Run a command with the standard streams of this one, and return its exit code."""
    program = _which(command[0])
    try:
        if program is None:
            raise FileNotFoundError
        process = subprocess.Popen([program, *command[1:]])
    except FileNotFoundError:
        raise UsageError(f"{command[0]}: no such command; install it, or name another one behind --") from None
    except OSError as error:
        raise UsageError(f"{command[0]}: cannot be run: {error.strerror}") from None
    try:
        status = process.wait()
    except KeyboardInterrupt:
        process.terminate()
        status = process.wait()
    return SIGNAL_EXIT - status if status < 0 else status


def _is_published_by_plugin(site: Path, project: Project, command: Sequence[str]) -> bool:
    """Return whether the MkDocs plugin has just published the site."""
    if project.generator is None or project.file != project.generator or project.block is None:
        return False
    is_host = any(Path(word).stem in _PLUGIN_HOSTS for word in command)
    return is_host and PublishedFiles(site).has_sources
