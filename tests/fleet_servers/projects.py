"""Projects whose packages have documentation, written as `roaming deps sync` leaves them."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from pathlib import Path

from msgspec.structs import replace

from mkdocs_roaming.manifest.io import MANIFEST_PATH, load_manifest
from mkdocs_roaming.text.tokenizer import extract_terms
from roaming_deps.project import PackageDocs, Project, project_folder, save_project
from roaming_fleet.catalog import update_catalog
from roaming_fleet.folder import StoreFolder
from roaming_fleet.records import SiteRecord, make_catalog_entry, write_record


def write_project(root: Path, data: Path, packages: Iterable[PackageDocs], *, synced: float = 0.0) -> Project:
    """Write the view of a project on documentation that is in the store already, and on bundles."""
    view = StoreFolder(project_folder(data, root))
    packages = tuple(packages)
    for docs in reversed(packages):  # the first of those with one key counts
        record = SiteRecord(docs.key, docs.url, "failed", "", "", 0.0, error=docs.why)
        if docs.place:
            home = data / "store" / docs.place
            manifest = load_manifest((home / MANIFEST_PATH).read_bytes())
            entry = make_catalog_entry(docs.key, manifest, docs.crawled)
            names = tuple(dict.fromkeys(extract_terms(" ".join((docs.info.name, *docs.imports, *docs.aliases)), "en")))
            record = replace(record, state="done", home=str(home), entry=replace(entry, names=names, package=docs.info))
        write_record(view, record)
    update_catalog(view)
    locks = {
        file.name: hashlib.sha256(file.read_bytes()).hexdigest()
        for pattern in ("requirements*.txt", "package-lock.json")
        for file in root.glob(pattern)
    }
    project = Project(str(root.resolve()), locks, packages, synced or time.time())
    save_project(data, project)
    return project
