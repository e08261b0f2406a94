"""Retrieval on Anthropic's cookbook: 100 questions about 45 pages, with the sections that answer them.

    git clone https://github.com/anthropics/anthropic-cookbook

The set is the guide to retrieval-augmented generation of the repository, which is not part of this one. Its 232 chunks
are sections of a documentation site, each with an address (`page#anchor`), a heading and a text. They become Markdown
pages as a documentation repository would have them, which are published and opened as a library:

- A page has the chunks of its address in their order. The set has no titles of pages, so a title is the last part of
  the address in words (`prompt-generator`: “Prompt generator”).
- A chunk is a section of level 2, with the anchor of its address. Lines of its text that would be headings or HTML in
  Markdown are escaped, because the set has plain text; otherwise the text is unchanged.

Definitions, equal for all rows: each method returns exactly three of the set's sections, fewer only if fewer contain a
word of the question; twelve of the sections are a heading without text. P@3 and R@3 are the shares of right sections
among the three, and of the right ones that are found; F1 is computed of their means; MRR is the mean of 1 / rank of the
first right section among the three. A section is right only if its address is in the set's list, also if another
section has the same information.

The published rows are computed from the scores of each question that the repository has next to its guide, so both
halves and the intervals of differences are known. That evaluation's method returns fewer than three sections if fewer
are similar enough, and then divides precision by their number.

The halves are chosen by a hash of the question. Search was improved by looking at `develop` only.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from mkdocs_roaming import Page
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.lookup import SectionRef
from mkdocs_roaming.manifest.models import Heading

from .corpus import Checkout, build_library, find_checkout, read_checkout
from .methods import Method, count_tokens, make_methods
from .report import TOKENS, Column, Row, SetReport, choose_half, mean_of
from .vectors import find_embeddings

FOLDERS = ("capabilities/retrieval_augmented_generation", "skills/retrieval_augmented_generation")
"""Where the repository has had the guide, the newest place first."""
CHUNKS = "data/anthropic_docs.json"
QUESTIONS = "evaluation/docs_evaluation_dataset.json"
SCORES = "evaluation/csvs/evaluation_results_detailed_{}.csv"
RESULTS = 3


class Chunk(Struct, frozen=True):
    """A section of the documentation."""

    chunk_link: str
    chunk_heading: str
    text: str

    @property
    def page(self) -> str:
        """The path of its page: that of the address, without slashes around it."""
        return urlsplit(self.chunk_link).path.strip("/")

    @property
    def anchor(self) -> str:
        """The anchor of its address."""
        return urlsplit(self.chunk_link).fragment


class Question(Struct, frozen=True):
    """A question with the addresses of the chunks that answer it."""

    question: str
    correct_chunks: list[str]


class Cookbook(Struct, frozen=True):
    """The set: what it was read from, its questions, and the library with the address of each section by its id."""

    folder: Path
    checkout: Checkout
    questions: list[Question]
    library: Library
    addresses: dict[str, str]


def open_cookbook(data: Path, site: Path) -> Cookbook:
    """Read the set and build its library.

    Args:
        data: The folder with the checkout of the repository.
        site: An empty folder for the library.

    Raises:
        SystemExit: The set is not in the checkout, or cannot be mapped to sections.
    """
    folder = find_checkout(data, "anthropic-cookbook", *FOLDERS)
    chunks = msgspec.json.decode((folder / CHUNKS).read_bytes(), type=list[Chunk])
    questions = msgspec.json.decode((folder / QUESTIONS).read_bytes(), type=list[Question])
    library = build_library(make_pages(chunks), site, name="Claude", url="https://docs.example/")
    return Cookbook(folder, read_checkout(folder), questions, library, map_addresses(library, chunks))


# The library


def make_pages(chunks: Sequence[Chunk]) -> list[Page]:
    """Return the pages of the chunks as Markdown."""
    by_page: dict[str, list[Chunk]] = {}
    for chunk in chunks:
        by_page.setdefault(chunk.page, []).append(chunk)
    return [_make_page(path, own) for path, own in by_page.items()]


def _make_page(path: str, chunks: Sequence[Chunk]) -> Page:
    title = path.rpartition("/")[2].replace("-", " ").replace("_", " ").capitalize()
    sections = (f"## {chunk.chunk_heading}\n\n{_format_body(chunk)}\n" for chunk in chunks)
    headings = [Heading(1, title, None), *(Heading(2, chunk.chunk_heading, chunk.anchor) for chunk in chunks)]
    return Page(path + "/", title, markdown="\n".join([f"# {title}\n", *sections]), headings=tuple(headings))


def _format_body(chunk: Chunk) -> str:
    """Return the text of a chunk without its heading, in which no line is a heading, a fence or HTML."""
    text = chunk.text.strip()
    if text.startswith(chunk.chunk_heading):
        text = text.removeprefix(chunk.chunk_heading).lstrip()
    return _BLOCK.sub(r"\1\\\2", text)


_BLOCK = re.compile(r"^([ \t]*)(#|=+[ \t]*$|-+[ \t]*$|`{3}|~{3}|<)", re.MULTILINE)


def map_addresses(library: Library, chunks: Sequence[Chunk]) -> dict[str, str]:
    """Return the address of the chunk of each section, by the section's id.

    Raises:
        SystemExit: Sections and chunks do not correspond one to one.
    """
    addresses: dict[str, str] = {}
    for chunk in chunks:
        section = library.sections.resolve(f"{chunk.page}/#{chunk.anchor}")
        if section is None or section.section.anchor != chunk.anchor or section.id in addresses:
            raise SystemExit(f"{chunk.chunk_link}: no section of its own in the library")
        addresses[section.id] = chunk.chunk_link
    extra = len(library.sections) - len(library.manifest.pages) - len(chunks)
    if extra:
        raise SystemExit(f"the library has {extra} sections that are no chunk")
    return addresses


# Scores


def score_results(found: Sequence[str], right: Sequence[str]) -> dict[str, float]:
    """Return the scores of the first three addresses that were found."""
    first, wanted = list(dict.fromkeys(found))[:RESULTS], frozenset(right)
    hits = [address in wanted for address in first]
    return {
        "precision": sum(hits) / RESULTS,
        "recall": sum(hits) / len(wanted),
        "reciprocal rank": 1 / (hits.index(True) + 1) if any(hits) else 0.0,
    }


def compute_f1(rows: Sequence[Row]) -> float:
    """Return the harmonic mean of mean precision and mean recall."""
    precision, recall = mean_of("precision")(rows), mean_of("recall")(rows)
    return 2 * precision * recall / (precision + recall) if precision + recall else 0.0


COLUMNS = (
    Column("P@3", mean_of("precision")),
    Column("R@3", mean_of("recall")),
    Column("F1", compute_f1),
    Column("MRR", mean_of("reciprocal rank")),
    TOKENS,
)
GAIN_COLUMNS = tuple(column for column in COLUMNS if column.name in ("R@3", "MRR"))
PUBLISHED = {
    "basic, Voyage-2 embeddings (published)": "one",
    "summary index (published)": "level_two",
    "summary index, rerank by Claude (published)": "level_three",
}
"""The methods that the repository has scores of for each question, and the ends of their files' names."""


def read_published(folder: Path, questions: Sequence[Question]) -> Iterator[Row]:
    """Yield the scores that the repository has published for each question.

    Raises:
        SystemExit: A file is about other questions.
    """
    for method, name in PUBLISHED.items():
        with (folder / SCORES.format(name)).open(encoding="utf-8", newline="") as file:
            entries = list(csv.DictReader(file))
        if [entry["question"] for entry in entries] != [question.question for question in questions]:
            raise SystemExit(f"{file.name}: not about the questions of the set")
        for number, entry in enumerate(entries, 1):
            scores = {
                "precision": float(entry["retrieval_precision"]),
                "recall": float(entry["retrieval_recall"]),
                "reciprocal rank": float(entry["retrieval_mrr"]),
            }
            yield Row(number, choose_half(entry["question"]), method, scores)


def iter_rows(questions: Sequence[Question], methods: Sequence[Method], addresses: dict[str, str]) -> Iterator[Row]:
    """Yield the scores of each method for each question."""
    for method in methods:
        for number, question in enumerate(questions, 1):
            ranked = method.rank(question.question).first(RESULTS)
            found = [addresses[each.section.id] for each in ranked.sections]
            scores = score_results(found, question.correct_chunks)
            half = choose_half(question.question)
            yield Row(number, half, method.name, scores, count_tokens(ranked.text()))


def measure(data: Path, site: Path) -> SetReport:
    """Measure the set; see `Measure`."""
    cookbook = open_cookbook(data, site)
    questions, library, addresses = cookbook.questions, cookbook.library, cookbook.addresses
    right = {address for question in questions for address in question.correct_chunks}
    facts = {
        "pages": len(library.manifest.pages),
        "sections": len(addresses),
        "questions": len(questions),
        "right addresses": len(right),
        "right addresses with a section": len(right & set(addresses.values())),
    }

    def is_chunk(section: SectionRef) -> bool:
        return section.id in addresses

    embeddings = find_embeddings(data, "cookbook")
    methods = make_methods(library, is_chunk, embeddings)
    rows = (*read_published(cookbook.folder, questions), *iter_rows(questions, methods, addresses))
    return SetReport("cookbook", (cookbook.checkout,), facts, rows, COLUMNS, gains=GAIN_COLUMNS)
