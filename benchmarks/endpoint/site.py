"""Generated site of the endpoint benchmarks, with a Zipf-like distribution of words."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from mkdocs_roaming import Page, publish_pages

PAGES = 834
SECTIONS = 6
PARAGRAPHS = 2
WORDS_OF_A_PARAGRAPH = 40
VOCABULARY = 5_000
SEED = 7
_SYLLABLES = ("ka", "ri", "to", "ne", "lu", "mo", "se", "vi", "da", "pu")
_PRIME_STEP = 7919
_PRIME_COUNT = 10_007
"""Ranks are spread over four digits, one syllable each, so that neighbouring ranks are different words."""


@contextmanager
def build_site() -> Iterator[Path]:
    """Generate and publish the site; yield its folder."""
    with tempfile.TemporaryDirectory(prefix="roaming-serve-") as folder:
        rng = random.Random(SEED)
        pages = [make_page(rng, number) for number in range(PAGES)]
        built = Path(folder) / "built"
        built.mkdir()
        publish_pages(pages, built, url="https://bench.example/", name="Bench")
        yield built


def make_page(rng: random.Random, number: int) -> Page:
    """Return a page of random words."""
    title = f"{random_word(rng).capitalize()} {number}"
    blocks = [f"# {title}", make_paragraph(rng)]
    for _ in range(SECTIONS - 1):
        blocks.append(f"## {random_word(rng).capitalize()} {random_word(rng)}")
        blocks += [make_paragraph(rng) for _ in range(PARAGRAPHS)]
    return Page(f"page-{number}/", title, markdown="\n\n".join(blocks) + "\n")


def make_paragraph(rng: random.Random) -> str:
    """Return a sentence of random words."""
    words = [random_word(rng) for _ in range(WORDS_OF_A_PARAGRAPH)]
    return " ".join(words).capitalize() + "."


def random_word(rng: random.Random, most_common: int = 0) -> str:
    """Return a word, but none of the most common ones; the n-th word is about n times as rare as the first."""
    ranks = VOCABULARY - most_common + 1
    rank = min(int(ranks ** rng.random()) - 1 + most_common, VOCABULARY)
    digits = f"{rank * _PRIME_STEP % _PRIME_COUNT:04}"
    return "".join(_SYLLABLES[int(digit)] for digit in digits)
