"""The documentation of a project's packages as the LIB argument of the commands: `deps://`, or `deps://FOLDER`."""

from __future__ import annotations

import logging
import os
from pathlib import Path
from typing import Any

from mkdocs_roaming.errors import UsageError
from roaming_deps.project import data_folder, find_root
from roaming_deps.view import DepsCollection
from roaming_fleet.target import StoreTarget
from roaming_fleet.tools import INSTRUCTIONS

_log = logging.getLogger(__name__)

SCHEME = "deps://"
SKIP_FLAGGED = "?skip-flagged"


def open_deps_target(where: str, *, trust_rules: bool = False, **options: Any) -> DepsTarget | None:
    """Return the packages of a project; None for other addresses (entry point `roaming.libraries`).

    `deps://` is the project of the current folder. With `?skip-flagged` behind it, flagged sections are left out. The
    rules of sites are never applied.
    """
    if not where.startswith(SCHEME):
        return None
    skip_flagged = where.endswith(SKIP_FLAGGED)
    root = find_root(Path(where.removeprefix(SCHEME).removesuffix(SKIP_FLAGGED)))
    collection = DepsCollection(root, data_folder(os.environ), skip_flagged=skip_flagged, **options)
    if collection.notice:
        _log.warning("%s", collection.notice)
    return DepsTarget(collection, f"{SCHEME}{root}{SKIP_FLAGGED if skip_flagged else ''}")


class DepsTarget(StoreTarget):
    """The packages of a project."""

    collection: DepsCollection
    server = "project-docs", "deps"

    def __init__(self, collection: DepsCollection, where: str) -> None:
        """Use the packages of a project."""
        super().__init__(collection)
        self.where = where
        self.instructions = f"The documentation of what a project uses: {collection.name}.\n{INSTRUCTIONS}"

    def render_index(self, max_bytes: int) -> tuple[str, str]:
        """Return the address and the text of an index of the direct dependencies for AGENTS.md."""
        from roaming_deps.index import render_index  # imports the publishing side

        return SCHEME, render_index(self.collection, SCHEME, max_bytes=max_bytes)

    def create_app(self, config: Any) -> Any:
        """Raise UsageError, because responses of the HTTP API have no versions of packages."""
        raise UsageError(f"{self.where}: served to agents on this machine by `roaming mcp`, not over HTTP")

    def _store_given_error(self) -> UsageError:
        return UsageError(f"{self.where}: has many packages; PACKAGE:ID names a section (see `roaming outline`)")

    def _no_site_error(self, address: str) -> UsageError:
        return UsageError(f"{self.where}: no documentation of {address}; `roaming outline {self.where}` lists packages")
