"""Files below `.well-known` in MkDocs builds, which leave hidden files of earlier builds in the folder."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from .conftest import Built, Project

ROOT_URL = "https://kettle.example/"
HOME = "# Kettle\n\nKettles boil water.\n\n## Descale\n\nVinegar helps.\n"
INDEX = ".well-known/agent-skills/index.json"


def read_skill(built: Built) -> str:
    """Return the skill that the index names, and check its digest."""
    (entry,) = json.loads(built.text(INDEX))["skills"]
    data = (built.folder / ".well-known/agent-skills" / entry["url"]).read_bytes()
    assert entry["digest"] == f"sha256:{hashlib.sha256(data).hexdigest()}"
    return data.decode()


def hidden_files(built: Built) -> list[str]:
    files = (built.folder / ".well-known").rglob("*.*")
    return sorted(file.relative_to(built.folder / ".well-known").as_posix() for file in files if file.is_file())


def test_next_build_replaces_files_of_the_last(mkdocs: Project) -> None:
    mkdocs({"index.md": HOME}, site_name="Kettle", site_url=ROOT_URL)
    built = mkdocs({"index.md": HOME.replace("Descale", "Clean")}, site_name="Teapot", site_url=ROOT_URL)
    assert "] Clean`" in read_skill(built)
    assert hidden_files(built) == ["agent-skills/index.json", "agent-skills/teapot-docs/SKILL.md", "llms.txt"]
    assert built.text(".well-known/llms.txt") == built.text("llms.txt")
    assert built.faults == ()
