"""Retrieval on “contextual retrieval”: 248 questions about 90 files of code in 737 chunks.

    git clone https://github.com/anthropics/anthropic-cookbook
    python -m benchmarks.public.contextual --data anthropic-cookbook [--record FILE.json]

The set belongs to a guide of the repository, which is not part of this one. What differs from documentation, and from
the published rows:

- The texts are code, cut at a number of characters. They have no titles, and the set does not name the files. All pages
  therefore have the same title and all chunks the same heading, so that neither says anything; a chunk is the code block
  of its section.
- The published figures are those that the guide's notebook prints: no scores of single questions, so they have no
  intervals and cannot be compared by question. “Basic RAG” is Voyage-2 embeddings. The contextual rows add to each chunk
  a text that a model wrote about it, with BM25 in addition, or with a second ranking by Cohere's model.

Definitions: pass@k is the mean share of a question's right chunks among the first k chunks that a method finds. By the
set's rule, which the published rows have, a chunk with the same text as a right one is right as well; `exact` counts
only the chunks that the set names. Nothing of search was changed for this set; the halves of the questions are printed
as for the other sets.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec
from msgspec import Struct

from mkdocs_roaming import Page
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.models import Heading

from .corpus import build_library, find_checkout, read_checkout
from .methods import Method, count_tokens, make_methods
from .report import TOKENS, Column, Published, Row, SetReport, choose_half, mean_of, run_set
from .vectors import find_embeddings

DEPTHS = (5, 10, 20)


class Chunk(Struct, frozen=True):
    """A part of a file: its place in it, and its text."""

    original_index: int
    content: str


class File(Struct, frozen=True):
    """A file of code in its chunks."""

    original_uuid: str
    chunks: list[Chunk]


class Question(Struct, frozen=True):
    """A question with the files and places of the chunks that answer it."""

    query: str
    golden_chunk_uuids: list[tuple[str, int]]


Texts = dict[tuple[str, int], str]
"""The text of each chunk by file and place."""


def make_pages(files: Sequence[File]) -> Iterator[Page]:
    """Yield a page for each file, with a section of code for each chunk."""
    for number, file in enumerate(files, 1):
        headings = [Heading(1, "File", None)]
        parts = ["# File\n"]
        for chunk in file.chunks:
            fence = "`" * max(3, 1 + max(map(len, re.findall("`+", chunk.content)), default=0))
            parts.append(f"## Part\n\n{fence}\n{chunk.content}\n{fence}\n")
            headings.append(Heading(2, "Part", f"part-{chunk.original_index}"))
        yield Page(f"{number}/", "File", markdown="\n".join(parts), headings=tuple(headings))


def map_chunks(library: Library, files: Sequence[File]) -> dict[str, tuple[str, int]]:
    """Return the file and place of the chunk of each section, by the section's id.

    Raises:
        SystemExit: A chunk has no section of its own.
    """
    chunks: dict[str, tuple[str, int]] = {}
    for number, file in enumerate(files, 1):
        for chunk in file.chunks:
            section = library.sections.resolve(f"{number}/#part-{chunk.original_index}")
            if section is None or not section.section.anchor or section.id in chunks:
                raise SystemExit(f"file {number}, chunk {chunk.original_index}: no section of its own in the library")
            chunks[section.id] = (file.original_uuid, chunk.original_index)
    return chunks


def score_chunks(
    found: Sequence[tuple[str, int]], right: Collection[tuple[str, int]], texts: Texts
) -> dict[str, float]:
    """Return the shares of the right chunks among the first ones that were found, by both rules."""
    scores = {}
    for depth in DEPTHS:
        first = set(found[:depth])
        same = {texts[chunk] for chunk in first}
        scores[f"pass {depth}"] = sum(texts[chunk] in same for chunk in right) / len(right)
        scores[f"exact {depth}"] = sum(chunk in first for chunk in right) / len(right)
    return scores


def iter_rows(
    questions: Sequence[Question], methods: Sequence[Method], chunks: dict[str, tuple[str, int]], texts: Texts
) -> Iterator[Row]:
    """Yield the scores of each method for each question."""
    for method in methods:
        for number, question in enumerate(questions, 1):
            ranked = method.rank(question.query).first(max(DEPTHS))
            found = [chunks[each.section.id] for each in ranked.sections]
            scores = score_chunks(found, question.golden_chunk_uuids, texts)
            yield Row(number, choose_half(question.query), method.name, scores, count_tokens(ranked.text()))


def read_published(notebook: dict[str, Any]) -> Iterator[Published]:
    """Yield the rows that the guide's notebook prints, each named by the heading of level 2 above it."""
    heading, figures = "", dict[str, dict[str, str]]()
    for cell in notebook["cells"]:
        if cell["cell_type"] == "markdown":
            heading = next((line[3:].strip() for line in cell["source"][::-1] if line.startswith("## ")), heading)
        for output in cell.get("outputs", ()):
            for depth, percent in re.findall(r"Pass@(\d+): ([\d.]+)%", "".join(output.get("text", ""))):
                figures.setdefault(heading, {})[f"pass@{depth}"] = f"{float(percent):.1f}%"
    yield from (Published(name, own) for name, own in figures.items())


COLUMNS = (
    *(Column(f"pass@{depth}", mean_of(f"pass {depth}"), "{:.1%}") for depth in DEPTHS),
    *(Column(f"exact@{depth}", mean_of(f"exact {depth}"), "{:.1%}", interval=False) for depth in DEPTHS),
    TOKENS,
)


def measure(data: Path, site: Path) -> SetReport:
    """Measure the set; see `run_set`."""
    folder = find_checkout(
        data, "anthropic-cookbook", "capabilities/contextual-embeddings", "skills/contextual-embeddings"
    )
    files = msgspec.json.decode((folder / "data/codebase_chunks.json").read_bytes(), type=list[File])
    lines = (folder / "data/evaluation_set.jsonl").read_bytes().splitlines()
    questions = [msgspec.json.decode(line, type=Question) for line in lines]
    library = build_library(make_pages(files), site, name="Code", url="https://code.example/")
    chunks = map_chunks(library, files)
    texts = {
        (file.original_uuid, chunk.original_index): chunk.content.strip() for file in files for chunk in file.chunks
    }
    facts = {"files": len(files), "chunks": len(texts), "different texts": len(set(texts.values()))}
    methods = make_methods(library, lambda section: section.id in chunks, find_embeddings(data, "contextual"))
    rows = iter_rows(questions, methods, chunks, texts)
    published = read_published(msgspec.json.decode((folder / "guide.ipynb").read_bytes()))
    return SetReport("contextual", (read_checkout(folder),), facts, tuple(rows), COLUMNS, tuple(published), COLUMNS[:6])


if __name__ == "__main__":
    run_set(measure, __doc__)
