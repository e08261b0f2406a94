"""The pages state the figures that were recorded."""

from __future__ import annotations

import os

import pytest
from public.all import Figures, SetFigures, Table, fill, format_cell, make_figures, make_pages, read_figures
from public.corpus import Checkout
from public.report import Column, Row, SetReport, mean_of

ROWS = tuple(Row(number, "unseen", "`roaming search`", {"hit": number % 2}, 10) for number in range(1, 5))
COLUMN = Column("hit@5, all", mean_of("hit"), "{:.1%}")


@pytest.fixture
def figures() -> Figures:
    rows = (*ROWS, *(Row(number, "unseen", "others", {}) for number in range(1, 5)))
    report = SetReport("pumps", (Checkout("data", "c0ffee"),), {"pages": 2}, rows, (COLUMN,))
    return Figures("2026-01-01", Checkout("code", "c0ffee"), {}, {"pumps": make_figures(report)})


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("0.868 (0.810–0.923)", ".868 (.810–.923)"),
        ("82.2% (77.6%–86.4%)", "82.2 % (77.6–86.4)"),
        ("0.0%", "0.0 %"),
        ("+0.003 (-0.067 … +0.073)", "+.003 (−.067 … +.073)"),
        ("-13.8% (-22.8% … -5.3%)", "−13.8 % (−22.8 … −5.3)"),
        ("1.000", "1.000"),
        ("10,350", "10,350"),
        ("–", "–"),
    ],
)
def test_format_cell(text: str, shown: str) -> None:
    assert format_cell(text) == shown


def test_fill_replaces_a_figure_within_a_row(figures: Figures) -> None:
    row = "| hits | <!-- figure: pumps all; roaming search; hit@5, all -->9 %<!-- /figure --> | x |"

    assert fill(row, figures) == row.replace("9 %", "50.0 %")


def test_fill_replaces_a_table_and_leaves_out_rows_without_figures(figures: Figures) -> None:
    text = "a\n<!-- figures: pumps all; hit@5, all -->\nold\n<!-- /figures -->\nb"

    lines = fill(text, figures).splitlines()

    assert lines[3:5] == ["| method | hit@5, all |", "| --- | --: |"]
    assert lines[5].startswith("| `roaming search` | 50.0 % (")
    assert "others" not in "".join(lines)
    assert lines[-2:] == ["<!-- /figures -->", "b"]


def test_fill_is_unchanged_by_a_second_run(figures: Figures) -> None:
    once = fill("<!-- figures: pumps all; hit@5, all --><!-- /figures -->", figures)

    assert fill(once, figures) == once


@pytest.mark.parametrize("place", ["tides all; roaming search; hit@5, all", "pumps none; roaming search; hit@5, all"])
def test_fill_with_unknown_place_is_an_error(place: str, figures: Figures) -> None:
    with pytest.raises(LookupError):
        fill(f"<!-- figure: {place} -->1<!-- /figure -->", figures)


def test_fill_with_unknown_method_is_an_error(figures: Figures) -> None:
    with pytest.raises(LookupError, match="grep"):
        fill("<!-- figure: pumps all; grep; hit@5, all -->1<!-- /figure -->", figures)


def test_table_of_lines_has_the_same_cells() -> None:
    table = Table.from_lines(["| method | hit |", "| --- | --: |", "| a | 1 (2–3) |"])

    assert table == Table(("method", "hit"), (("a", "1 (2–3)"),))


def test_figures_of_a_set_have_all_parts(figures: Figures) -> None:
    tables = figures.sets["pumps"].tables

    assert isinstance(figures.sets["pumps"], SetFigures)
    assert list(tables) == ["develop", "unseen", "all"]
    assert tables["unseen"].rows[0][0] == "`roaming search`"


def test_pages_have_the_recorded_figures() -> None:
    """UPDATE_DOCS=1 writes them into the pages."""
    pages = make_pages(read_figures())
    if os.environ.get("UPDATE_DOCS"):
        for file, text in pages.items():
            file.write_text(text, "utf-8")
    assert [file.name for file, text in pages.items() if file.read_text("utf-8") != text] == []
