"""MkDocs sites with the widget in common themes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import yaml

from .conftest import Stage

_INSTANT = {"font": False, "features": ["navigation.instant", "navigation.tracking", "search.suggest"]}
THEMES: dict[str, dict[str, Any]] = {
    "material": {"name": "material", **_INSTANT},
    "material plain": {"name": "material", "font": False},
    "slate": {"name": "material", **_INSTANT, "palette": {"scheme": "slate", "primary": "amber"}},
    "mkdocs": {"name": "mkdocs", "highlightjs": False},
    "mkdocs dark": {"name": "mkdocs", "highlightjs": False, "color_mode": "dark"},
    "readthedocs": {"name": "readthedocs", "highlightjs": False},
}


def built(stage: Stage, theme: str, sources: Mapping[str, str], **config: Any) -> Stage:
    """Build a site for the URL that serves it."""
    docs = stage.folder.parent / "docs"
    for name, text in sources.items():
        (docs / name).parent.mkdir(parents=True, exist_ok=True)
        (docs / name).write_text(text, "utf-8")
    search = "material/search" if THEMES[theme]["name"] == "material" else "search"
    settings = {
        "site_name": "Ebb",
        "site_url": stage.url,
        "theme": THEMES[theme],
        "plugins": [search, {"roaming": {"widget": {"endpoint": stage.url, "feedback": True}}}],
        **config,
    }
    (docs.parent / "mkdocs.yml").write_text(yaml.safe_dump(settings), "utf-8")
    command = [sys.executable, "-m", "mkdocs", "build", "-q", "-d", str(stage.folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    subprocess.run(command, cwd=docs.parent, check=True, capture_output=True, env=environment)
    return stage
