"""Manifests of small sites for the tests of `mkdocs_roaming.manifest`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import yaml

from mkdocs_roaming.manifest.aliases import PreviousSite
from mkdocs_roaming.manifest.builder import build_manifest
from mkdocs_roaming.manifest.models import Heading, Manifest, NavItem, Page, PublishedPage, Site
from mkdocs_roaming.manifest.sections import split_sections

URL = "https://docs.example/p/"
GUIDE = (
    "# Guide\n\nHow to begin.\n\n## Install\n\nRun the installer with `--quiet`.\n\n## Remove\n\nDelete the folder.\n"
)
API = "# API\n\nSee [install](https://docs.example/p/guide/index.md#install).\n\n## Ports\n\nIt listens on 8124.\n"


def build(
    pages: dict[str, str],
    nav: tuple[NavItem, ...] = (),
    previous: PreviousSite | None = None,
    headings: Mapping[str, Sequence[Heading]] = MappingProxyType({}),
    descriptions: Mapping[str, str] = MappingProxyType({}),
    about: str = "",
) -> Manifest:
    written = [
        PublishedPage(
            Page(path, path or "Home", description=descriptions.get(path, "")),
            text,
            split_sections(text, title=path, headings=headings.get(path)),
        )
        for path, text in pages.items()
    ]
    return build_manifest(Site("Docs", URL, about, nav=nav), written, previous=previous)


def load_cases(table: str) -> Any:
    """Return a table of tests/golden/manifest/cases.yml."""
    return yaml.safe_load((Path(__file__).parent / "golden/manifest/cases.yml").read_text("utf-8"))[table]


def ids_by_title(manifest: Manifest) -> dict[str, str]:
    return {section.title: section.id for section in manifest.sections()}
