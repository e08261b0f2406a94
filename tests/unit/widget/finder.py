"""The finder of the widget in Node, on a folder with the files that a build publishes for it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from node import run_in_node

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.publish.elements.finder_index import iter_finder_files

RANK = """async (load, folder, scope, queries, byMeaning) => {
    const { Finder, inScope } = await load("finder");
    const read = async (name) => JSON.parse(readFileSync(`${folder}/roaming/finder${name}.json`));
    const finder = new Finder(await read(""), (page) => inScope(page, scope), (name) => read(`/${name}`));
    const bytes = (name) => new Uint8Array(readFileSync(`${folder}/roaming/finder/${name}.bin`)).buffer;
    if (finder.search.meaning && byMeaning) {
      const { Meaning } = await load("meaning");
      const { table, vectors, weight } = finder.search.meaning;
      finder.meaning = new Meaning(bytes(table), bytes(vectors), weight);
    }
    const found = [];
    for (const query of queries) found.push(await finder.find(query));
    return found.map((sections) => sections.map(({ id, title }) => [id, title]));
}"""


def write_finder(folder: Path) -> Library:
    """Write the files of the finder into the folder of a site, and return its library."""
    library = open_library(str(folder))
    for path, data in iter_finder_files(library.manifest, library.text, with_table=True):
        (folder / path).parent.mkdir(exist_ok=True)
        (folder / path).write_bytes(data)
    return library


def find_sections(
    folder: Path, queries: Sequence[str], *, by_meaning: bool = False, **scope: list[str]
) -> list[list[list[str]]]:
    """Return id and title of the sections that the finder finds for each query."""
    found: list[list[list[str]]] = run_in_node(RANK, str(folder), scope, list(queries), by_meaning)
    return found


def find_titles(folder: Path, query: str) -> list[str]:
    """Return the titles of the sections that the finder finds."""
    return [title for _, title in find_sections(folder, [query])[0]]


def rank_in_node(folder: Path, queries: Sequence[str], *, by_meaning: bool = False, **scope: Any) -> list[list[str]]:
    """Return the ids of the sections that the finder finds for each query."""
    found = find_sections(folder, queries, by_meaning=by_meaning, **scope)
    return [[id_ for id_, _ in sections] for sections in found]
