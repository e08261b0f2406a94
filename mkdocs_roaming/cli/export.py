"""`roaming export` and `roaming bundle`: a site in the form of another tool, or as package data."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import click

from mkdocs_roaming.cli.common import FILE, FOLDER, LIBRARY, LibraryCommand, warn
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.files import write_text_file
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.readers import MissingFileError
from mkdocs_roaming.library.targets import open_target
from mkdocs_roaming.locks import hold_folder
from mkdocs_roaming.publish.agents import agents_md as index_file
from mkdocs_roaming.publish.agents.bundle import MAX_BYTES, write_bundle
from mkdocs_roaming.publish.llms_txt import format_size

_LICENCES = ("LICENSE*", "LICENCE*", "COPYING*")


@click.group()
def export() -> None:
    """Export a site for other tools, such as an index for AGENTS.md."""


@export.command("agents-md", cls=LibraryCommand)
@LIBRARY
@click.option(
    "--into",
    type=FILE,
    metavar="FILE",
    help="Write the index into FILE, such as AGENTS.md: in place of an older one, or at the end.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(min=index_file.MIN_BYTES),
    default=index_file.MAX_BYTES,
    show_default=True,
    help="Maximum size of the index.",
)
@click.option("--untrusted", is_flag=True, help="The site is a third party's: export titles only, marked as data.")
def agents_md(lib: str, into: Path | None, max_bytes: int, untrusted: bool) -> None:
    """Print an index of a site for AGENTS.md.

    It belongs into a project that uses what the site documents: the outline of the site, with the addresses of its
    sections. LIB is a folder that you built, unless --untrusted is given. With --deps it has the titles of all packages
    that the project names as dependencies.
    """
    target = open_target(lib)
    if target.store:
        url, block = target.store.render_index(max_bytes)
    else:
        library = target.open_site()
        if not (library.trusted or untrusted):
            raise UsageError(
                f"{lib}: this may be a third party's site, whose text would become instructions of your project. Name "
                "the folder of a site that you built, or export titles only with --untrusted"
            )
        manifest = library.manifest
        has_files = _has_section_files(library)
        url = manifest.site.url
        block = index_file.render_agents_md(
            manifest, section_files=has_files, trusted=not untrusted, max_bytes=max_bytes
        )
    if into is None:
        click.echo(block, nl=False)
        return
    with hold_folder(into, warn):  # the text around the block is written again
        write_text_file(into, index_file.insert_block(_read(into), block, url))
    click.echo(f"{into}: index of {url}, {len(block.encode()):,} bytes")


def _has_section_files(library: Library) -> bool:
    with suppress(MissingFileError):
        return bool(library.file(f"roaming/sections/{library.manifest.pages[0].id}.md"))
    return False


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from None


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
    help="Maximum compressed size. Pages that have no room are named.",
)
def bundle(lib: str, output: Path, licence: Path | None, max_bytes: int) -> None:
    """Write the documentation of a Python package for its package data.

    LIB is the folder of a site that you built. With an entry point of the group roaming.docs, users of the package ask
    its documentation with `roaming ask --installed`.
    """
    library = open_target(lib).open_site()
    if not (library.trusted and library.is_published):
        raise UsageError(f"{lib}: a bundle is made of a site that you built, not of one that was crawled or is remote")
    licence = licence or _find_licence()
    with hold_folder(output, warn):
        report = write_bundle(
            library.manifest, lambda page: library.file(page.markdown), output, licence, max_bytes=max_bytes
        )
    if report.left_out:
        shown = ", ".join(report.left_out[:5])
        warn(f"no room for {len(report.left_out)} pages: {shown}; --max-bytes allows more")
    pages = f"{report.pages} of {report.pages + len(report.left_out)} pages"
    click.echo(f"{output}: {pages}, {format_size(report.compressed)} compressed, {format_size(report.bytes)} unpacked")


def _find_licence() -> Path:
    for pattern in _LICENCES:
        if files := sorted(file for file in Path().glob(pattern) if file.is_file()):
            return files[0]
    raise UsageError("no LICENSE, LICENCE or COPYING in the current folder; name the file with --license")
