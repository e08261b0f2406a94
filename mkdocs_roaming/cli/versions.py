"""`roaming versions`."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from mkdocs_roaming.cli.common import AS_JSON, print_json
from mkdocs_roaming.publish.versions import publish_versions


@click.command()
@click.argument("folder", type=click.Path(path_type=Path), default=".")
@click.option("--default", metavar="VERSION", help="Version whose pages are listed (default: that of the home page).")
@click.option("--overwrite", is_flag=True, help="Overwrite an llms.txt that something else wrote.")
@AS_JSON
def versions(folder: Path, default: str | None, overwrite: bool, as_json: bool) -> None:
    """Write the root llms.txt of a site with several versions.

    FOLDER contains a versions.json and a folder for each version (default: the current folder).
    """
    report = publish_versions(folder, default=default, overwrite=overwrite)
    if as_json:
        print_json(asdict(report))
    else:
        click.echo(f"{folder}: {report}")
