r"""Retrieval on the questions of Ray's users: 177 questions with the place in Ray's documentation that answers them.

    git clone https://github.com/ray-project/llm-applications
    git clone https://github.com/ray-project/ray
    git -C ray checkout f3cf5e90c363
    pip install sphinx myst-nb sphinx-design sphinx-external-toc sphinx-tabs
    PYTHONPATH=ray/doc/source/_ext python -m sphinx -C ray/doc/source ray/doc/_build/html \
        -D project=Ray -D exclude_patterns='templates/*' -D nb_execution_mode=off \
        -D myst_enable_extensions=dollarmath,amsmath,deflist,html_admonition,html_image,colon_fence,smartquotes \
        -D extensions=myst_nb,sphinx_design,sphinx_tabs.tabs,sphinx_external_toc,sphinx.ext.doctest,callouts,queryparamrefs

The set (CC BY 4.0) is Anyscale's guide to production applications, which is not part of this
repository. It has the ranked sources that each of its systems found for each question. What differs from them:

- The set does not name the version of the documentation. The commit is the first of those, of August and September
  2023, that have most of the pages and headings that the systems found.
- Pages that Sphinx generates of docstrings need an installed Ray and are not built. The questions that they answer are
  left out. The systems searched them as well, so such sources, and those of pages that the commit does not have, are
  removed from their lists (`all sources` keeps them). What remains of a list moves up, which favours it, and a list can
  be shorter than 13.
- The systems found chunks of 700 characters, some 2,300 tokens for 13. Chunks of one section are one result here, at the
  place of the first; a result of ours is a section, which is longer.
- Some of the published embeddings were tuned on questions that a model wrote about this documentation.

Definitions: page@k is the share of questions with the right page among the first k different pages that were found,
section@k with the right section among the first k results. Ours are the pages and sections of at most 13 results; the
published lists have 9, 13 or, with BM25, 18 chunks. Section figures are of the questions whose right place has the
anchor of a section. The set itself counts the page, among all results. Nothing of search was changed for this set.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Struct

from mkdocs_roaming import open_library, publish_site
from mkdocs_roaming.library.library import Library

from .corpus import find_checkout, has_text, read_checkout
from .methods import Method, count_tokens, make_methods
from .report import TOKENS, Column, Row, SetReport, choose_half, mean_of
from .vectors import find_embeddings

URL = "https://docs.ray.io/en/master/"
DEPTHS = (1, 5, 13)
PUBLISHED = {
    "ada-002 embeddings, 9 chunks": "text-embedding-ada-002",
    "bge-large embeddings": "bge-large-en",
    "gte-large embeddings": "gte-large",
    "gte-large and BM25": "lexical-search-bm25-5",
    "gte-large, fine-tuned": "gte-large-fine-tuned-el",
    "gte-large, fine-tuned, cross-encoder, 9 chunks": "cross-encoder-reranker",
}
"""The systems, and the names of the files of their answers."""


class Question(Struct, frozen=True):
    """A question with the address that answers it."""

    question: str
    source: str


class Answer(Struct, frozen=True):
    """A system's answer: the addresses of the chunks that it found, best first."""

    question: str
    sources: list[str]


class Answers(Struct, frozen=True):
    """The answers of a system."""

    results: list[Answer]


class Place(Struct, frozen=True):
    """A page, and a section of it by its id: empty if an address names none, or one that the page does not have."""

    page: str
    section: str = ""


def find_place(library: Library, address: str) -> Place | None:
    """Return the place of an address, or None if the library does not have its page."""
    page = library.sections.resolve(address.partition("#")[0])
    if page is None:
        return None
    section = library.sections.resolve(address) if "#" in address else None
    return Place(page.page.path, section.id if section else "")


def score_places(found: Iterable[Place], right: Place) -> dict[str, float]:
    """Return whether the right page is among the first pages, and the right section among the first places.

    Args:
        found: The places that were found, best first.
        right: The place that answers; without a section it has no scores of sections.
    """
    places = list(dict.fromkeys(found))
    pages = list(dict.fromkeys(place.page for place in places))
    scores = {f"page {depth}": float(right.page in pages[:depth]) for depth in DEPTHS}
    if right.section:
        scores |= {f"section {depth}": float(right in places[:depth]) for depth in DEPTHS}
    return scores


def iter_published(
    folder: Path, library: Library, questions: Sequence[Question], golds: Mapping[int, Place]
) -> Iterator[Row]:
    """Yield the scores of the sources that each system found, those outside the documentation removed, and with them.

    Raises:
        SystemExit: A file is about other questions.
    """
    for method, name in PUBLISHED.items():
        answers = msgspec.json.decode((folder / f"{name}.json").read_bytes(), type=Answers).results
        if [answer.question for answer in answers] != [question.question for question in questions]:
            raise SystemExit(f"{name}: not about the questions of the set")
        for number, right in golds.items():
            answer = answers[number - 1]
            known = {source: place for source in answer.sources if (place := find_place(library, source))}
            scores = score_places((known[source] for source in answer.sources if source in known), right)
            every = score_places((known.get(source, Place(source)) for source in answer.sources), right)
            scores |= {f"{name} all": score for name, score in every.items()}
            yield Row(number, choose_half(answer.question), f"{method} (published)", scores)


def iter_rows(methods: Sequence[Method], questions: Sequence[Question], golds: Mapping[int, Place]) -> Iterator[Row]:
    """Yield the scores of each method for each question that the documentation answers."""
    for method in methods:
        for number, right in golds.items():
            question = questions[number - 1].question
            ranked = method.rank(question).first(max(DEPTHS))
            scores = score_places((Place(each.section.page.path, each.section.id) for each in ranked.sections), right)
            yield Row(number, choose_half(question), method.name, scores, count_tokens(ranked.text()))


COLUMNS = (
    *(
        Column(f"{kind}@{depth}", mean_of(f"{kind} {depth}"), "{:.1%}")
        for kind in ("page", "section")
        for depth in DEPTHS
    ),
    *(
        Column(f"page@{depth}, all sources", mean_of(f"page {depth} all"), "{:.1%}", interval=False)
        for depth in (5, 13)
    ),
    TOKENS,
)


def measure(data: Path, site: Path) -> SetReport:
    """Measure the set; see `Measure`."""
    folder, docs = find_checkout(data, "llm-applications", "datasets").parent, find_checkout(data, "ray", "doc")
    lines = (folder / "datasets/eval-dataset-v1.jsonl").read_bytes().splitlines()
    questions = [msgspec.json.decode(line, type=Question) for line in lines]
    if not (docs / "_build/html").is_dir():
        raise SystemExit(f"{docs}: not built. benchmarks/public/ray.py has the commands.")
    shutil.copytree(docs / "_build/html", site, dirs_exist_ok=True)
    publish_site(site, url=URL, name="Ray")
    library = open_library(str(site))
    places = {number: find_place(library, question.source) for number, question in enumerate(questions, 1)}
    golds = {number: place for number, place in places.items() if place}
    facts = {
        "pages": len(library.manifest.pages),
        "sections": len(library.sections),
        "questions": len(questions),
        "questions with a page": len(golds),
        "questions with a section": sum(bool(place.section) for place in golds.values()),
        "right sections with text": sum(
            map(has_text, filter(None, (library.sections.get(place.section) for place in golds.values())))
        ),
    }
    rows = (
        *iter_published(folder / "experiments/responses", library, questions, golds),
        *iter_rows(make_methods(library, embeddings=find_embeddings(data, "ray")), questions, golds),
    )
    return SetReport("ray", (read_checkout(folder), read_checkout(docs)), facts, rows, COLUMNS, gains=COLUMNS[:6])
