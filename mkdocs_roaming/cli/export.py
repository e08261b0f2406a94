"""`roaming export`: a site in the form of another tool."""

from __future__ import annotations

from pathlib import Path

import click

from mkdocs_roaming.cli.common import FILE, LIBRARY
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.files import write_text_file
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.readers import MissingFileError
from mkdocs_roaming.library.targets import open_target
from mkdocs_roaming.publish.agents.agents_md import MAX_BYTES, MIN_BYTES, insert_block, render_agents_md


@click.group()
def export() -> None:
    """Export a site for other tools, such as an index for AGENTS.md."""


@export.command("agents-md")
@LIBRARY
@click.option(
    "--into",
    type=FILE,
    metavar="FILE",
    help="Write the index into FILE, such as AGENTS.md: in place of an older one, or at the end.",
)
@click.option(
    "--max-bytes",
    type=click.IntRange(min=MIN_BYTES),
    default=MAX_BYTES,
    show_default=True,
    help="Maximum size of the index.",
)
@click.option("--untrusted", is_flag=True, help="The site is a third party's: export titles only, marked as data.")
def agents_md(lib: str, into: Path | None, max_bytes: int, untrusted: bool) -> None:
    """Print an index of a site for AGENTS.md.

    It belongs into a project that uses what the site documents: the outline of the site, with the addresses of its
    sections. LIB is a folder that you built, unless --untrusted is given.
    """
    library = open_target(lib).open_site()
    if not (library.trusted or untrusted):
        raise UsageError(
            f"{lib}: this may be a third party's site, whose text would become instructions of your project. Name the "
            "folder of a site that you built, or export titles only with --untrusted"
        )
    block = render_agents_md(
        library.manifest, section_files=_has_section_files(library), trusted=not untrusted, max_bytes=max_bytes
    )
    if into is None:
        click.echo(block, nl=False)
        return
    write_text_file(into, insert_block(_read(into), block, library.manifest.site.url))
    click.echo(f"{into}: index of {library.manifest.site.url}, {len(block.encode()):,} bytes")


def _has_section_files(library: Library) -> bool:
    try:
        library.file(f"roaming/sections/{library.manifest.pages[0].id}.md")
    except MissingFileError:
        return False
    return True


def _read(file: Path) -> str:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return ""
    except UnicodeDecodeError as error:
        raise UsageError(f"{file}: not UTF-8 at byte {error.start}; save it as UTF-8") from None
    except OSError as error:
        raise UsageError(f"{file}: cannot be read ({error.strerror})") from None
