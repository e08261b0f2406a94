"""A published site's folder, looked at where it lies: what a build does when it has written one."""

from __future__ import annotations

from functools import cache
from pathlib import Path

from mkdocs_roaming.lint.config import Config
from mkdocs_roaming.lint.docs import docs_of
from mkdocs_roaming.lint.report import Report, lint
from mkdocs_roaming.lint.sources import Sources
from mkdocs_roaming.manifest import PATH, load
from mkdocs_roaming.places import Places


def lint_folder(folder: Path, config: Config, docs: Path | None = None) -> Report:
    """Look at the site in a folder; `docs` is the folder of its sources.

    Raises ManifestError where its manifest cannot be read.
    """

    @cache
    def file(path: str) -> bytes | None:
        return _read(folder, path)

    places = Places(load((folder / PATH).read_bytes(), where=str(folder / PATH)))
    given = docs_of(places, lambda page: (file(page.markdown) or b"").decode("utf-8", "replace"), file)
    return lint(given, config, sources_in(docs) if docs else None)


def sources_in(docs: Path) -> Sources:
    """Give what reads sources from their folder."""

    def read(source: str) -> str | None:
        data = _read(docs, source)
        return data.decode("utf-8", "replace") if data is not None else None

    return read


def _read(folder: Path, path: str) -> bytes | None:
    """Give a file below a folder; None where there is none, or where its path leads out of the folder."""
    if path.startswith("/") or ".." in path.split("/") or "\0" in path:
        return None
    try:
        return (folder / path).read_bytes()
    except OSError:
        return None
