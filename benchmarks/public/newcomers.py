"""Retrieval on newcomers' questions: 40 about each of three sites, which avoid the words of the documentation.

    git clone https://github.com/pi-hole/docs pi-hole
    git clone https://github.com/syncthing/docs syncthing
    git clone https://github.com/Klipper3d/klipper
    cd pi-hole && mkdocs build -d site
    cd syncthing && sphinx-build -b html . _build/html
    cd klipper && PYTHONPATH=. mkdocs build -f docs/_klipper3d/mkdocs.yml

The checkouts are at the commits of `SITES`. The questions are part of this repository under a free licence, with the
rule by which they were written: `benchmarks/questions/newcomers`. Each site has another author, a language model that had
read the documentation but not seen search, and did not use it. About a quarter of the questions are those of
administrators and developers.

Definitions: section@k and page@k are the shares of questions with a right section or its page among the first k
sections or different pages that were found; MRR is the mean of 1 / rank of the first right section among the first 12;
tokens are those of 12 sections. Search by words was not improved with these questions; the table of word-piece vectors
and its weight were. Intervals are about other questions on these sites, not about other sites.
"""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Mapping, Sequence
from itertools import count
from pathlib import Path

import msgspec
from msgspec import Struct

from mkdocs_roaming import open_library, publish_site
from mkdocs_roaming.library.library import Library

from .corpus import find_checkout, has_text, read_checkout
from .methods import Method, count_tokens, make_methods
from .report import TOKENS, Column, Group, Row, SetReport, choose_half, mean_of
from .vectors import find_embeddings

QUESTIONS = Path(__file__).parents[1] / "questions/newcomers"
DEPTHS = (1, 5, 12)


class Site(Struct, frozen=True):
    """A documentation site.

    Attributes:
        name: Its name.
        url: Its address.
        html: The folder of the built site in the checkout.
        commit: The commit that the questions were written for.
    """

    name: str
    url: str
    html: str
    commit: str


SITES: Mapping[str, Site] = {
    "pi-hole": Site("Pi-hole", "https://docs.pi-hole.net/", "site", "7c96feb53ee0"),
    "syncthing": Site("Syncthing", "https://docs.syncthing.net/", "_build/html", "766daa6e2b02"),
    "klipper": Site("Klipper", "https://www.klipper3d.org/", "site", "84104bbbd762"),
}
"""The sites by the name of their checkout, which is also that of their questions."""


class Question(Struct, frozen=True):
    """A question.

    Attributes:
        ask: What a newcomer types.
        answers: The addresses of the sections that answer it, without that of the site; none if no section does.
    """

    ask: str
    answers: tuple[str, ...]


def read_questions(name: str) -> list[Question]:
    """Return the questions about a site."""
    lines = (QUESTIONS / f"{name}.jsonl").read_bytes().splitlines()
    return [msgspec.json.decode(line, type=Question) for line in lines]


def open_site(data: Path, name: str, folder: Path) -> Library:
    """Publish the built site of a checkout, and open it.

    Args:
        data: The folder with the checkouts.
        name: The name of the checkout.
        folder: An empty folder for the site.

    Raises:
        SystemExit: The checkout is missing, has another commit, or its site is not built.
    """
    site, checkout = SITES[name], find_checkout(data, name)
    if not read_checkout(checkout).commit.startswith(site.commit):
        raise SystemExit(f"{checkout}: not at {site.commit}. Run `git -C {checkout} checkout {site.commit}`.")
    if not (checkout / site.html).is_dir():
        raise SystemExit(f"{checkout}: not built. benchmarks/public/newcomers.py has the commands.")
    shutil.copytree(checkout / site.html, folder, dirs_exist_ok=True)
    publish_site(folder, url=site.url, name=site.name)
    return open_library(str(folder))


def find_sections(library: Library, question: Question) -> dict[str, str]:
    """Return the sections that answer a question: the path of the page of each by its id.

    Raises:
        SystemExit: The library does not have one of them.
    """
    found: dict[str, str] = {}
    for address in question.answers:
        section = library.sections.resolve(address)
        if section is None:
            raise SystemExit(f"{library.manifest.site.name}: no section {address}")
        found[section.id] = section.page.path
    return found


def iter_rows(
    library: Library, methods: Sequence[Method], questions: Sequence[tuple[int, Question]], group: str
) -> Iterator[Row]:
    """Yield the scores of each method for each question with its number in the set."""
    for method in methods:
        for number, question in questions:
            right = find_sections(library, question)
            ranked = method.rank(question.ask).first(max(DEPTHS))
            ids = [each.section.id for each in ranked.sections]
            pages = list(dict.fromkeys(each.section.page.path for each in ranked.sections))
            rank = next((rank for rank, id_ in enumerate(ids, 1) if id_ in right), 0)
            scores = {f"section {depth}": float(0 < rank <= depth) for depth in DEPTHS}
            scores |= {f"page {depth}": float(bool({*right.values()} & {*pages[:depth]})) for depth in DEPTHS}
            scores["reciprocal rank"] = 1 / rank if rank else 0.0
            yield Row(number, choose_half(question.ask), method.name, scores, count_tokens(ranked.text()), group=group)


COLUMNS = (
    *(Column(f"section@{depth}", mean_of(f"section {depth}"), "{:.1%}") for depth in DEPTHS),
    *(Column(f"page@{depth}", mean_of(f"page {depth}"), "{:.1%}") for depth in DEPTHS[:2]),
    Column("MRR", mean_of("reciprocal rank")),
    TOKENS,
)


def measure(data: Path, site: Path) -> SetReport:
    """Measure the set; see `Measure`."""
    facts: dict[str, int] = {}
    rows: list[Row] = []
    numbers = count(1)
    for name in SITES:
        library = open_site(data, name, site / name)
        questions = [question for question in read_questions(name) if question.answers]
        embeddings = find_embeddings(data, f"newcomers-{name}")
        methods = make_methods(library, embeddings=embeddings)
        facts |= {
            f"{name}: pages": len(library.manifest.pages),
            f"{name}: sections": sum(map(has_text, library.sections)),
            f"{name}: questions": len(questions),
        }
        rows += iter_rows(library, methods, [(next(numbers), question) for question in questions], name)
    groups = {name: Group(each.name, COLUMNS) for name, each in SITES.items()}
    checkouts = tuple(read_checkout(find_checkout(data, name)) for name in SITES)
    ordered = sorted(rows, key=lambda row: row.number)
    return SetReport("newcomers", checkouts, facts, tuple(ordered), COLUMNS, gains=COLUMNS[:-1], groups=groups)
