"""Corpora of public sets: their checkouts, and libraries that are built through the product's own path."""

from __future__ import annotations

import subprocess
from collections.abc import Iterable
from pathlib import Path

from msgspec import Struct

from mkdocs_roaming import Page, publish_pages
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.lookup import SectionRef


class Checkout(Struct, frozen=True):
    """A checkout that a set or its documentation is read from.

    Attributes:
        name: The name of the checkout's folder.
        commit: The commit that is checked out.
        changed: Whether files of the repository differ from the commit.
    """

    name: str
    commit: str
    changed: bool = False

    def __str__(self) -> str:
        return f"{self.name} {self.commit[:12]}{' with changes' if self.changed else ''}"


def read_checkout(folder: Path) -> Checkout:
    """Return the commit of a Git checkout; files that are not checked out (sparse checkouts) do not count as changed.

    Raises:
        SystemExit: The folder is not in a Git checkout.
    """
    try:
        top, commit = _git(folder, "rev-parse", "--show-toplevel"), _git(folder, "rev-parse", "HEAD")
        changes = _git(folder, "status", "--porcelain", "--untracked-files=no", ".")
    except (OSError, subprocess.CalledProcessError) as error:
        raise SystemExit(f"{folder}: not a Git checkout. Clone the repository, so that its commit is known.") from error
    return Checkout(Path(top).name, commit, bool(changes))


def _git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def find_checkout(data: Path, name: str, *folders: str) -> Path:
    """Return a checkout, or the first of some folders that it has.

    Args:
        data: The folder that has it.
        name: The name of the checkout in the folder.
        folders: Folders in it: where a set has been, the newest place first.

    Raises:
        SystemExit: There is none.
    """
    checkout = data / name
    found = next((path for folder in folders or ("",) if (path := checkout / folder).is_dir()), None)
    if found is None:
        raise SystemExit(f"{checkout}: no folder {' or '.join(folders or (name,))}")
    return found


def build_library(pages: Iterable[Page], folder: Path, *, name: str, url: str) -> Library:
    """Publish pages to a folder, as `mkdocs_roaming.publish_pages` does for any source, and open the result.

    Args:
        pages: The pages with their Markdown, in reading order.
        folder: An empty folder.
        name: The site's name.
        url: The site's URL.
    """
    publish_pages(pages, folder, url=url, name=name)
    return open_library(str(folder))


def has_text(section: SectionRef) -> bool:
    """Return whether a section has text of its own below its heading."""
    return bool(section.section.body)
