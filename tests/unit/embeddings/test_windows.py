"""Splitting of sections into windows."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.embeddings.sections import WINDOW_TOKENS, split_windows
from mkdocs_roaming.embeddings.store import MAX_WINDOWS
from mkdocs_roaming.text.tokenizer import estimate_tokens

TITLES = ("Guide", "Pumps")


def test_short_section_is_one_window_with_titles_and_link_texts() -> None:
    text = (
        "## Pumps\n\nSee [the valve](https://docs.example/valve/index.md#a) and ![a pump](https://x.example/p.png).\n"
    )
    assert split_windows(TITLES, text) == ["Guide › Pumps\n\nSee the valve and a pump."]


def test_urls_with_brackets_and_titles_are_removed() -> None:
    """Text that is not a link stays."""
    text = '[the pump](https://x.example/a_(b) "Its page"), a[0](1) and [so on'
    assert split_windows(TITLES, text) == ["Guide › Pumps\n\nthe pump, a0 and [so on"]


def test_section_without_text_has_opening_or_titles_as_window() -> None:
    assert split_windows(TITLES, "## Pumps\n\n", "What a pump is.") == ["Guide › Pumps\n\nWhat a pump is."]
    assert split_windows(TITLES, "## Pumps\n") == ["Guide › Pumps"]


def test_long_section_is_split_between_paragraphs_without_losing_words() -> None:
    paragraphs = [f"Paragraph {at} describes " + "water and pumps " * 20 for at in range(9)]
    windows = split_windows(TITLES, "## Pumps\n\n" + "\n\n".join(paragraphs))
    assert 3 < len(windows) <= 9
    text = " ".join(window.split("\n\n", 1)[1] for window in windows)
    assert text.split() == " ".join(paragraphs).split()


@given(st.text(st.sampled_from("ab. \n世界|`#"), max_size=4_000))
def test_window_length_and_number_are_limited(text: str) -> None:
    windows = split_windows(TITLES, text + "x" * 3_000)
    assert 1 <= len(windows) <= MAX_WINDOWS
    assert all(estimate_tokens(window) <= 2 * WINDOW_TOKENS for window in windows)
