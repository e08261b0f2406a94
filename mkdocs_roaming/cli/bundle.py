"""`roaming bundle`: the documentation of a Python package, for its package data."""

from __future__ import annotations

from pathlib import Path

import click

from mkdocs_roaming.cli.common import FILE, FOLDER, LIBRARY, warn
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.targets import open_target
from mkdocs_roaming.publish.agents.bundle import MAX_BYTES, write_bundle

_LICENCES = ("LICENSE*", "LICENCE*", "COPYING*")


@click.command()
@LIBRARY
@click.option(
    "-o",
    "--output",
    type=FOLDER,
    required=True,
    metavar="FOLDER",
    help="Folder of the bundle, such as src/mypackage/_docs. An older bundle in it is replaced.",
)
@click.option(
    "--license",
    "licence",
    type=FILE,
    metavar="FILE",
    help="Licence of the documentation (default: LICENSE, LICENCE or COPYING in the current folder).",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(min=10_000),
    default=MAX_BYTES,
    show_default=True,
    help="Maximum size. Pages that have no room are named.",
)
def bundle(lib: str, output: Path, licence: Path | None, max_bytes: int) -> None:
    """Write the documentation of a Python package for its package data.

    LIB is the folder of a site that you built. With an entry point of the group roaming.docs, users of the package ask
    its documentation with `roaming ask --installed`.
    """
    library = open_target(lib).open_site()
    if not (library.trusted and library.is_published):
        raise UsageError(f"{lib}: a bundle is made of a site that you built, not of one that was crawled or is remote")
    report = write_bundle(
        library.manifest,
        lambda page: library.file(page.markdown),
        output,
        licence or _find_licence(),
        max_bytes=max_bytes,
    )
    if report.left_out:
        warn(f"no room for {len(report.left_out)} pages: {', '.join(report.left_out[:5])}; --max-bytes allows more")
    click.echo(f"{output}: {report.pages} pages, {report.bytes:,} bytes")


def _find_licence() -> Path:
    for pattern in _LICENCES:
        if files := sorted(file for file in Path().glob(pattern) if file.is_file()):
            return files[0]
    raise UsageError("no LICENSE, LICENCE or COPYING in the current folder; name the file with --license")
