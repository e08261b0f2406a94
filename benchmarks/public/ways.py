"""What other ways to answer the same questions send to a model: the whole site, or the nearest chunks.

Only their prompts are compared, not their answers: tokens (a quarter of the characters), whether a section that answers
is among them, and the price with the replies of the recorded answers, in which nothing is counted that a model thinks. Nothing is counted as cached, except in the row
that says so: there the site is read from the cache for each question.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from statistics import fmean

from msgspec import Struct

from mkdocs_roaming.answer.budget import Prices, load_known_prices
from mkdocs_roaming.embeddings.store import split_windows
from mkdocs_roaming.library.hybrid import HybridSearch
from mkdocs_roaming.library.library import Library

from .methods import count_tokens

CHUNKS = 10
MODELS = ("claude-sonnet-5-5", "claude-haiku-4-5")
QUESTIONS = 1_000
TOKENS = 1_000_000


class Way(Struct, frozen=True):
    """A way to answer the questions of a set; numbers are means of a question.

    Attributes:
        name: The name in the table.
        requests: Number of requests to the model.
        tokens: Input tokens.
        output: Output tokens.
        has_right: The share of questions, of those that the documentation answers, with a section that answers among
            what the model read.
        cached: Whether the input is read from the cache.
    """

    name: str
    requests: float
    tokens: float
    output: float
    has_right: float
    cached: bool = False


class Prompt(Struct, frozen=True):
    """The prompt of a question: its tokens, and whether a section that answers is in it; None if none exists."""

    tokens: int
    has_right: bool | None


def iter_ways(
    opened: Sequence[Prompt], whole: Sequence[Prompt], chunks: Sequence[Prompt], calls: float, output: float
) -> Iterator[Way]:
    """Yield the ways.

    Args:
        opened: What the answers sent for each question, in all requests.
        whole: The prompts with the whole site.
        chunks: The prompts with the nearest chunks.
        calls: Requests of the answers.
        output: Output tokens of the answers, which count for all ways.
    """
    for name, prompts, requests, cached in (
        ("mkdocs-roaming", opened, calls, False),
        ("whole site in the prompt", whole, 1.0, False),
        ("whole site, from the cache", whole, 1.0, True),
        (f"{CHUNKS} nearest chunks", chunks, 1.0, False),
    ):
        known = [prompt.has_right for prompt in prompts if prompt.has_right is not None]
        yield Way(name, requests, fmean(prompt.tokens for prompt in prompts), output, fmean(known), cached)


def make_whole_prompt(library: Library, right: Iterable[str]) -> Prompt:
    """Return the prompt with the text of all pages."""
    files = (library.file(page.markdown).decode("utf-8", "surrogatepass") for page in library.manifest.pages)
    return Prompt(sum(map(count_tokens, files)), True if any(right) else None)


def make_chunks_prompt(library: Library, hybrid: HybridSearch, question: str, right: Iterable[str]) -> Prompt:
    """Return the prompt with the nearest chunks, at most one of a section.

    Args:
        library: The library.
        hybrid: Its hybrid search, for the vectors.
        question: The question.
        right: The ids of the sections that answer it.
    """
    nearest = list(hybrid.vectors.nearest(question) or ())[:CHUNKS]
    texts = [
        split_windows(library.sections.breadcrumb(section), library.text(section), section.section.opening)[window]
        for section, _, window in nearest
    ]
    wanted = {*right}
    has_right = any(section.id in wanted for section, _, _ in nearest) if wanted else None
    return Prompt(sum(map(count_tokens, texts)) + count_tokens(question), has_right)


def iter_ways_lines(ways: Sequence[Way]) -> Iterator[str]:
    """Yield the lines of a Markdown table with prices at the built-in price list."""
    date, known = load_known_prices()
    yield (
        "| way | requests | input tokens | answering section read | "
        + " | ".join(f"USD for {QUESTIONS:,} questions, {model} ({date})" for model in MODELS)
        + " |"
    )
    yield "| --- |" + " --: |" * (3 + len(MODELS))
    for way in ways:
        costs = " | ".join(f"{compute_cost(way, known[model]):,.2f}" for model in MODELS)
        yield f"| {way.name} | {way.requests:.2f} | {way.tokens:,.0f} | {way.has_right:.0%} | {costs} |"


def compute_cost(way: Way, prices: Prices) -> float:
    """Return the price of 1,000 questions."""
    price = prices.cache_read if way.cached else prices.input
    return QUESTIONS * (way.tokens * price + way.output * prices.output) / TOKENS
