"""Files below `.well-known`: the index of skills with the skill, and a copy of llms.txt.

Clients look there at the root of a host only (RFC 8615), so a site below another path has none. MkDocs deletes no
hidden files of earlier builds, so our own ones are recognized by their content.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from os.path import lexists
from pathlib import Path
from urllib.parse import urlsplit

from mkdocs_roaming.manifest.models import LLMS_TXT
from mkdocs_roaming.publish.agents import skill
from mkdocs_roaming.publish.agents.skill import SKILL_FOLDER
from mkdocs_roaming.publish.cache import SiteFile

FOLDER = ".well-known/"
_SKILLS = f"{FOLDER}agent-skills/"
_LIST = f"{FOLDER}{LLMS_TXT}"
_OWN_SENTENCE = re.compile(rb"^A collapsed outline of all sections is at \S+/roaming/outline\.md", re.MULTILINE)


def iter_copies(files: Iterable[SiteFile], site_url: str) -> Iterator[SiteFile]:
    """Yield the files below `.well-known` for the files of a site; none unless the site is the root of its host."""
    if urlsplit(site_url).path not in ("", "/"):
        return
    for file in files:
        if file.path == LLMS_TXT:
            yield SiteFile(_LIST, file.head)
        elif file.path.startswith(SKILL_FOLDER):
            yield SiteFile(_SKILLS + file.path.removeprefix(SKILL_FOLDER), file.head)


def iter_own_files(folder: Path) -> Iterator[str]:
    """Yield the paths of files that an earlier build has written."""
    for pattern in (_LIST, f"{_SKILLS}index.json", f"{_SKILLS}*/SKILL.md"):
        for file in folder.glob(pattern):
            if is_own_file(folder, path := file.relative_to(folder).as_posix()):
                yield path


def is_own_file(folder: Path, path: str) -> bool:
    """Return whether an earlier build has written a file below `.well-known`."""
    try:
        data = (folder / path).read_bytes()
    except OSError:
        return False
    if path == _LIST:
        return _OWN_SENTENCE.search(data) is not None
    return skill.is_own_file(path, data)


def find_foreign_files(folder: Path, paths: Iterable[str]) -> list[str]:
    """Return those of the paths below `.well-known` where something else has written a file."""
    return [
        path for path in paths if path.startswith(FOLDER) and lexists(folder / path) and not is_own_file(folder, path)
    ]


def explain_foreign(path: str) -> str:
    """Return why a file is not written, and what the author of the one that exists can do."""
    if path == _LIST:
        return "not written, because something else wrote it; delete it, or set `overwrite: true`"
    return (
        "not written, because something else wrote it; to list the skill of this site there, add the entry of "
        f"{SKILL_FOLDER}index.json"
    )
