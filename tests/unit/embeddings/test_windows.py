"""A section becomes pieces that a model can read whole, each under its titles."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.embeddings.store import MAX_WINDOWS, WINDOW_TOKENS, split_windows
from mkdocs_roaming.text.tokenizer import estimate_tokens

TITLES = ("Guide", "Pumps")


def test_a_short_section_is_one_window() -> None:
    """Its titles, then its text without heading, link addresses and pictures' addresses."""
    text = (
        "## Pumps\n\nSee [the valve](https://docs.example/valve/index.md#a) and ![a pump](https://x.example/p.png).\n"
    )
    assert split_windows(TITLES, text) == ["Guide › Pumps\n\nSee the valve and a pump."]


def test_addresses_with_brackets_are_left_out_too() -> None:
    """An address may hold brackets, a link a title; what is no link stays."""
    text = '[the pump](https://x.example/a_(b) "Its page"), a[0](1) and [so on'
    assert split_windows(TITLES, text) == ["Guide › Pumps\n\nthe pump, a0 and [so on"]


@pytest.mark.parametrize("begun", ["[", "![", "[a](", '[x](y "', "[a](b(", "\n \t", "|", "世界"])
def test_a_hostile_page_takes_no_time(begun: str) -> None:
    """A crawled page may begin a hundred thousand links and end none."""
    before = time.process_time()
    split_windows(TITLES, begun * 100_000)
    assert time.process_time() - before < 10


def test_a_section_without_text_has_its_opening() -> None:
    """Or its titles alone: there is always one."""
    assert split_windows(TITLES, "## Pumps\n\n", "What a pump is.") == ["Guide › Pumps\n\nWhat a pump is."]
    assert split_windows(TITLES, "## Pumps\n") == ["Guide › Pumps"]


def test_a_long_section_is_cut_between_paragraphs() -> None:
    """Every word stands in one window, in order."""
    paragraphs = [f"Paragraph {at} tells of " + "water and pumps " * 20 for at in range(9)]
    found = split_windows(TITLES, "## Pumps\n\n" + "\n\n".join(paragraphs))
    assert 3 < len(found) <= 9
    together = " ".join(window.split("\n\n", 1)[1] for window in found)
    assert together.split() == " ".join(paragraphs).split()


@given(st.text(st.sampled_from("ab. \n世界|`#"), max_size=4_000))
def test_no_window_is_longer_than_a_model_reads(text: str) -> None:
    """Prose, tables, code and scripts without spaces; endless ones too."""
    found = split_windows(TITLES, text + "x" * 3_000)
    assert 1 <= len(found) <= MAX_WINDOWS
    assert all(estimate_tokens(window) <= 2 * WINDOW_TOKENS for window in found)
