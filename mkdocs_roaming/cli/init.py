"""`roaming init`: add mkdocs-roaming to a project."""

from __future__ import annotations

from pathlib import Path

import click

from mkdocs_roaming.cli.common import CONFIG_FILE, FOLDER
from mkdocs_roaming.files import write_text_file
from mkdocs_roaming.setup.detect import Setup, find_setup, relative
from mkdocs_roaming.setup.plan import make_plan
from mkdocs_roaming.text.markdown import pluralize, sanitize


@click.command()
@click.argument("folder", type=FOLDER, default=".")
@CONFIG_FILE
@click.option("-y", "--yes", is_flag=True, help="Write the files without asking.")
@click.option("--dry-run", is_flag=True, help="Show the changes and write nothing.")
def init(folder: Path, config_file: Path | None, yes: bool, dry_run: bool) -> None:
    """Add mkdocs-roaming to a project.

    FOLDER contains the project or its documentation (default: the current folder). The configuration is changed,
    shown as a diff and written after confirmation. What is left to do, such as requirements and build commands, is
    listed.
    """
    setup = find_setup(folder, config_file)
    plan = make_plan(setup)
    setup = plan.setup
    _print_findings(setup)
    click.echo(f"\n{sanitize(plan.diff)}" if plan.new else "\nNo file is changed.")
    for step in plan.steps:
        click.echo(f"To do: {sanitize(step)}")
    if not plan.new and not plan.steps:
        click.echo("The project is set up already.")
    if dry_run or not plan.new:
        return
    if yes or click.confirm(f"\nWrite {pluralize(len(plan.new), 'file')}?", default=True):
        for file, text in plan.new.items():
            mode = file.stat().st_mode if file.exists() else None
            write_text_file(file, text)
            file.chmod(mode or file.stat().st_mode)
        _print_commands(setup)


def _print_findings(setup: Setup) -> None:
    theme = f", theme {setup.project.theme}" if setup.project.theme and setup.command == "" else ""
    lines = [f"{setup.generator.title}: {setup.config}{theme}", f"built folder: {setup.site}"]
    lines += [f"URL: {setup.url}"] if setup.url else []
    lines += [f"llms.txt: the text of {setup.llms_txt} stays above the list of pages"] if setup.llms_txt else []
    click.echo(sanitize("\n".join(lines)))


def _print_commands(setup: Setup) -> None:
    """Print the commands that build the site, and show it with its panel."""
    folder = relative(setup.work, Path())
    docs = relative(setup.docs, setup.work)
    site = relative(setup.site, setup.work)
    commands = [f"cd {folder}"] if folder != "." else []
    commands += [f"roaming build -- {setup.command}"] if setup.command else []
    commands += [setup.generator.preview.format(docs=docs, site=site)]
    click.echo(sanitize("\n  ".join(["\nBuild the site and look at its panel:\n", *commands])))
