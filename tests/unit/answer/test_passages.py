"""Pieces of a section, and quotes of them."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.answer.models.passages import GAP, Piece, quote_pieces, split_pieces

GOLDEN = Path(__file__).parents[2] / "golden" / "answer"
TEXT = (GOLDEN / "pieces.md").read_text("utf-8")


def line(piece: Piece) -> str:
    def flat(start: int, end: int) -> str:
        return TEXT[start:end].strip("\n").replace("\n", "⏎")

    under = f" (under {flat(*piece.head)})" if piece.head else ""
    return f"{piece.kind}: {flat(piece.start, piece.end)}{under}{' (leads)' if piece.lead else ''}"


def test_split_pieces_finds_sentences_items_rows_code_and_notes() -> None:
    assert "".join(f"{line(piece)}\n" for piece in split_pieces(TEXT)) == (GOLDEN / "pieces.txt").read_text("utf-8")


def starting(*starts: str) -> list[Piece]:
    return [piece for piece in split_pieces(TEXT) if TEXT[piece.start :].startswith(starts)]


def test_quote_pieces_joins_neighbors_and_marks_gaps() -> None:
    (together,) = quote_pieces(TEXT, starting("Does a third", "漢字"))
    assert together.text == "Does a third? 漢字の文。"
    (apart,) = quote_pieces(TEXT, starting("A lead", "Does a third"))
    assert apart.text == f"A lead e.g. this one ends here. {GAP} Does a third?"


def test_quote_pieces_puts_row_under_table_head() -> None:
    (row,) = quote_pieces(TEXT, starting("| `b`"))
    assert row.text == "| key | default |\n|:--|--:|\n| `b` | 2 |"


def test_quote_pieces_removes_footnote_marks() -> None:
    (quoted,) = quote_pieces(TEXT, starting("A second"))
    assert quoted.text == "A second, see `a. B c`, follows."


def test_split_pieces_leaves_out_very_long_code() -> None:
    short, long = ("~~~~toml\n" + f"key = {count}\n" * count + "~~~~\n" for count in (38, 39))
    assert [(piece.kind, short[piece.start : piece.end]) for piece in split_pieces(short)] == [("code", short)]
    assert split_pieces(long) == []


_BITS = [
    "# A\n",
    "\n",
    "\n\n",
    "- item",
    "1. step",
    "| a | b |\n|--|--|\n",
    "| 1 | 2 |\n",
    "```\n",
    "> note",
    "    code",
    "\r\n",
]


@given(st.lists(st.sampled_from(_BITS) | st.text("ab.?! `[]^1é漢。", max_size=8), max_size=30))
def test_quotes_are_in_text(bits: list[str]) -> None:
    """Without the marks of gaps, the characters of a quote occur in the text in the same order."""
    text = "".join(bits)
    found = split_pieces(text)
    for chosen in (found, found[::2], found[1::3]):
        for quoted in quote_pieces(text, chosen):
            remaining = iter(text)
            words = quoted.text.replace(f" {GAP} ", "").replace(GAP, "").replace("\n", "")
            assert all(character in remaining for character in words)
