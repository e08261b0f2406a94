"""The preview of `mkdocs serve`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2

if TYPE_CHECKING:
    from .conftest import Project, Server, Serving

SOURCES = {
    "index.md": "# Kettle\n\nBoils water.\n",
    "guide.md": "# Guide\n\nUse the kettle.\n",
    "plan.md": "---\nllms: false\n---\n\n# Plan\n\nThe zebra launches in May.\n",
    "draft.md": "# Draft\n\nNot yet.\n",
}


def read_data(server: Server, name: str) -> Any:
    return json.loads(server.get(f"roaming/preview/data/{name}.json")[0])


def test_preview_follows_rebuilds_and_is_not_built(mkdocs: Project, tmp_path: Path, serving: Serving) -> None:
    mkdocs.write(SOURCES, plugins=[{"roaming": {"exclude": ["draft.md"]}}])
    with serving(tmp_path) as server:
        assert f"shown at {server.url}roaming/preview/" in server.log.read_text("utf-8")
        assert 'src="preview.js"' in server.get("roaming/preview/")[0]
        site = read_data(server, "site")
        assert [page["path"] for page in site["pages"]] == ["", "guide/"]
        assert {page["source"]: page["html"] for page in site["left_out"] if "source" in page} == {
            "draft.md": "draft/index.html",
            "plan.md": "plan/index.html",
        }
        reasons = {page["path"]: page["reason"] for page in site["left_out"]}
        assert "draft.md" in reasons["draft/"]
        assert "llms: false" in reasons["plan/"]

        (tmp_path / "docs/new.md").write_text("# New\n\n## Overview\n\nMore.\n")
        (tmp_path / "docs/plan.md").write_text("# Plan\n\nThe zebra is public.\n")
        server.wait("Reloading browsers")
        again = read_data(server, "site")
        assert {page["path"] for page in again["pages"]} == {"", "guide/", "new/", "plan/"}
        assert "plan/" not in {page["path"] for page in again["left_out"]}
        assert server.get("roaming/preview/version")[0] == again["digest"] != site["digest"]
        finding = next(one for one in read_data(server, "lint")["findings"] if one["rule"] == "empty-title")
        assert (finding["source"], finding["source_line"]) == ("new.md", 3)
        assert httpx2.get(f"{server.url}roaming/preview/", headers={"Host": "evil.example"}).status_code == 421
    built = mkdocs.build()
    assert not any("preview" in path for path in built.paths())
