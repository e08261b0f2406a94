"""Retrieval on the questions of Vue Docs MCP: 519 questions about 8 documentation sites.

    git clone https://github.com/joelbarmettlerUZH/vue-mcp
    python -m benchmarks.public.vue --data FOLDER [--record FILE.json]

FOLDER has this checkout, and one of each documentation repository, named as in the address: `docs`, `router`, `vueuse`, `vite`,
`vitest`, `devtools`, `pinia` of the organizations that `SITES` names, and `nuxt`. The set is read at run time; nothing
of it is part of this repository. The set does not record the commits that it was made from.

Definitions, equal for all rows:

- API recall at N tokens is the share of a question's names of API objects in the first N tokens that a method sends;
  see `vue_scores`. The question itself is removed from the text, because some methods repeat it. “As sent” is what
  the answer loop sends before the model's first call, whole.
- The ceiling is the recall of the text of all sections: some names are not in the documentation.
- A page is hit if a section of it is among those of the first 1 or 5 pages that a method finds.
- A further limit of a framework is the number of tokens that is published for Context7, counted by another tokenizer.
- `mean` is the mean over the frameworks, each with equal weight. A published row is about all questions of a framework.

The halves are chosen by a hash of the question. Search was improved by looking at `develop` only.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from itertools import count
from pathlib import Path

import msgspec
from msgspec import Struct

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.prefetch import PREFETCH_TOKENS
from mkdocs_roaming.library.search import Search

from .corpus import build_library, find_checkout, read_checkout
from .methods import Method, PrefetchMethod, Ranked, count_tokens, make_methods
from .report import Column, Figure, Group, Published, Row, SetReport, choose_half, mean_of, run_set
from .vitepress import iter_pages
from .vue_scores import (
    hits_page,
    mean_of_groups,
    measure_recall,
    measure_strict_recall,
    remove_echo,
    strip_suffix,
    unnamed,
)

QUESTIONS = "eval/questions"
LIMITS: Mapping[int, int] = {1_700: PREFETCH_TOKENS, 4_000: 3_800}
"""Tokens of the text that is scored; for each, what prefetch opens for it, in estimated tokens."""
COMPARED = "Context7"
"""The published method whose tokens are a further limit."""
FIRST, LAST = LIMITS
DEPTHS = (1, 5)


class Site(Struct, frozen=True):
    """The documentation of a framework.

    Attributes:
        name: The name of the framework.
        repository: Owner and name of its repository on GitHub.
        folder: The folder of the documentation in it.
        excluded: Folders and files at its top that are no pages of the site in English.
        published: The figures that Vue Docs MCP has published.
    """

    name: str
    repository: str
    folder: str
    excluded: tuple[str, ...] = ()
    published: tuple[PublishedRecall, ...] = ()

    @property
    def limits(self) -> dict[int, int]:
        """The limits of the scored text, and what prefetch opens for each: also the published tokens of Context7."""
        compared = {each.tokens: each.tokens for each in self.published if each.name == COMPARED and each.tokens}
        return dict(LIMITS) | compared


class PublishedRecall(Struct, frozen=True):
    """Published API recall of a method, in percent, and the tokens of what it sends; None if they are not published."""

    name: str
    percent: float
    tokens: int | None


def _published(
    own: float, own_tokens: int | None, other: float, other_tokens: int | None
) -> tuple[PublishedRecall, ...]:
    return PublishedRecall("Vue Docs MCP", own, own_tokens), PublishedRecall(COMPARED, other, other_tokens)


SITES: Mapping[str, Site] = {
    "vue": Site("Vue", "vuejs/docs", "src", (), _published(98.7, 4_213, 53.1, 1_739)),
    "vue-router": Site("Vue Router", "vuejs/router", "packages/docs", ("zh",), _published(88.8, None, 34.4, None)),
    "vueuse": Site("VueUse", "vueuse/vueuse", "packages", ("skills",), _published(100.0, None, 92.0, None)),
    "vite": Site("Vite", "vitejs/vite", "docs", (), _published(87.8, 4_103, 84.7, 943)),
    "vitest": Site("Vitest", "vitest-dev/vitest", "docs", ("AGENTS.md",), _published(98.0, 3_361, 89.0, 797)),
    "vue-devtools": Site("Vue DevTools", "vuejs/devtools", "docs", (), _published(100.0, 2_018, 100.0, 840)),
    "pinia": Site("Pinia", "vuejs/pinia", "packages/docs", ("zh",), _published(100.0, 4_361, 93.9, 972)),
    "nuxt": Site("Nuxt", "nuxt/nuxt", "docs", ("README.md",), _published(100.0, 3_689, 89.8, 924)),
}
"""The frameworks by the name of their file of questions; published figures of 2026-04-01."""


class Question(Struct, frozen=True):
    """A question with the files that answer it and the names that an answer contains."""

    question: str
    relevant_paths: list[str]
    relevant_apis: list[str]


class Corpus(Struct, frozen=True):
    """The library of a framework.

    Attributes:
        library: The library.
        files: The file of each page by its path.
        text: The text of all sections.
    """

    library: Library
    files: Mapping[str, str]
    text: str


def build_corpus(site: Site, docs: Path, folder: Path) -> Corpus:
    """Publish the documentation of a framework, and open it."""
    sources = list(iter_pages(docs, site.excluded))
    if not sources:
        raise SystemExit(f"{docs}: no Markdown files. Clone https://github.com/{site.repository}.")
    library = build_library((each.page for each in sources), folder, name=site.name, url="https://docs.example/")
    files = {each.page.path: each.file for each in sources}
    return Corpus(library, files, "\n".join(library.text(section) for section in library.sections))


# Scores


class Sender(Struct, frozen=True):
    """A method and what it sends at each limit.

    Attributes:
        name: The name in tables.
        methods: The method at each limit: a prefetch opens more for a higher one.
        cut: Whether the text is cut at the limits.
    """

    name: str
    methods: Mapping[int, Method]
    cut: bool = True

    def rank(self, question: str) -> dict[int, Ranked]:
        """Return what is found for a question at each limit."""
        found = {id(method): method.rank(question) for method in self.methods.values()}
        return {limit: found[id(method)] for limit, method in self.methods.items()}


def make_senders(library: Library, limits: Mapping[int, int]) -> list[Sender]:
    """Return all methods for a library.

    Args:
        library: The library.
        limits: The limits of the scored text, and what prefetch opens for each.
    """
    *others, prefetch = make_methods(library)
    search = Search(library)
    prefetches = {limit: PrefetchMethod(library, search, opened) for limit, opened in limits.items()}
    return [
        *(Sender(method.name, dict.fromkeys(limits, method)) for method in others),
        Sender(prefetch.name, prefetches),
        Sender(f"{prefetch.name}, as sent", prefetches, cut=False),
    ]


def iter_rows(
    corpus: Corpus, questions: Iterable[tuple[int, Question]], group: str, limits: Mapping[int, int]
) -> Iterator[Row]:
    """Yield the scores of each method for each question with its number in the set."""
    senders = make_senders(corpus.library, limits)
    for number, question in questions:
        ceilings = {
            f"{name} ceiling": score for name, score in score_text(question, corpus.text).items() if name != "tokens"
        }
        for sender in senders:
            found = sender.rank(question.question)
            scores = ceilings | score_pages(
                question, [corpus.files[each.section.page.path] for each in found[FIRST].sections]
            )
            for limit, ranked in found.items():
                text = ranked.text(limit if sender.cut else None)
                scores |= {f"{name} {limit}": score for name, score in score_text(question, text).items()}
            yield Row(number, choose_half(question.question), sender.name, scores, group=group)


def score_text(question: Question, text: str) -> dict[str, float]:
    """Return the scores of a text that is sent: strict recall only of questions with names that they do not contain."""
    own = remove_echo(text, question.question)
    scores = {"recall": measure_recall(question.relevant_apis, own), "tokens": float(count_tokens(text))}
    if names := unnamed(question.relevant_apis, question.question):
        scores["strict"] = measure_strict_recall(names, own)
    return scores


def score_pages(question: Question, files: Iterable[str]) -> dict[str, float]:
    """Return the scores of the files of the sections that were found, best first."""
    pages = list(dict.fromkeys(files))
    return {
        f"{name} {depth}": hits_page(pages, question.relevant_paths, depth, suffix=name == "file")
        for name in ("page", "file")
        for depth in DEPTHS
    }


def iter_columns(limits: Iterable[int], *, mean: bool) -> Iterator[Column]:
    """Yield the columns of a table: of one framework, or of the mean over the frameworks."""

    def figure(score: str) -> Figure:
        return mean_of_groups(mean_of(score)) if mean else mean_of(score)

    for limit in sorted(limits):
        yield Column(recall_name(limit), figure(f"recall {limit}"), interval=limit in LIMITS)
        yield Column(f"tokens at {limit:,}", figure(f"tokens {limit}"), "{:,.0f}", interval=False)
    yield Column("ceiling", figure("recall ceiling"), interval=False)
    for limit in LIMITS:
        yield Column(f"strict at {limit:,}", figure(f"strict {limit}"), interval=mean)
    yield Column("strict ceiling", figure("strict ceiling"), interval=False)
    for depth in DEPTHS:
        yield Column(f"page hit@{depth}", figure(f"page {depth}"), interval=mean)
    yield Column(f"with .md, @{DEPTHS[-1]}", figure(f"file {DEPTHS[-1]}"), interval=False)


def recall_name(limit: int) -> str:
    """Return the head of the column of a limit."""
    return f"API recall at {limit:,}"


def iter_published(site: Site) -> Iterator[Published]:
    """Yield the published rows of a framework, each in the column of the limit that is nearest to its tokens."""
    for each in site.published:
        limit = min(site.limits, key=lambda one: abs(one - (each.tokens or LAST)))
        tokens = f"{each.tokens:,} tokens, other tokenizer" if each.tokens else "tokens not published"
        yield Published(f"{each.name}, {tokens}", {recall_name(limit): f"{each.percent / 100:.3f}"})


def read_questions(folder: Path) -> dict[str, list[tuple[int, Question]]]:
    """Return the questions of each framework with their numbers in the whole set, from 1."""
    numbers = count(1)
    return {
        name: [
            (next(numbers), question)
            for question in msgspec.json.decode((folder / f"{name}.json").read_bytes(), type=list[Question])
        ]
        for name in SITES
    }


def measure(data: Path, site: Path) -> SetReport:
    """Measure the set; see `run_set`."""
    folder = find_checkout(data, "vue-mcp", QUESTIONS)
    questions, checkouts = read_questions(folder), [read_checkout(folder)]
    facts: dict[str, int] = {}
    rows: list[Row] = []
    for name, framework in SITES.items():
        docs = find_checkout(data, framework.repository.partition("/")[2], framework.folder)
        checkouts.append(read_checkout(docs))
        corpus = build_corpus(framework, docs, site / name)
        right = {strip_suffix(path) for _, question in questions[name] for path in question.relevant_paths}
        facts |= {
            f"{name}: pages": len(corpus.files),
            f"{name}: questions": len(questions[name]),
            f"{name}: questions without names": sum(not each.relevant_apis for _, each in questions[name]),
            f"{name}: strict questions": sum(
                bool(unnamed(each.relevant_apis, each.question)) for _, each in questions[name]
            ),
            f"{name}: right paths": len(right),
            f"{name}: right paths with a page": len(right & set(map(strip_suffix, corpus.files.values()))),
        }
        rows += iter_rows(corpus, questions[name], name, framework.limits)
    groups = {
        name: Group(each.name, tuple(iter_columns(each.limits, mean=False)), tuple(iter_published(each)))
        for name, each in SITES.items()
    }
    columns = tuple(iter_columns(LIMITS, mean=True))
    return SetReport("vue", tuple(checkouts), facts, tuple(rows), columns, groups=groups)


if __name__ == "__main__":
    run_set(measure, __doc__)
