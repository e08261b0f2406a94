"""What of a model's text reaches the reader, and when."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.answer.citations import CitationGate, Dropped, GateResult, Released, Withheld

CASES = sorted((Path(__file__).parents[2] / "golden" / "release").glob("*.txt"))
OPENED = {"aaaaaaaa", "bbbbbbbb"}


@dataclass(frozen=True)
class Told:
    """What a reader is told in the end."""

    text: str
    withheld: list[str]
    dropped: list[str]
    gap: bool


def opened(name: str) -> str | None:
    return name.lower() if name.lower() in OPENED else None


def told(texts: Iterable[str]) -> Told:
    release = CitationGate(opened)
    outcomes: list[GateResult] = []
    for text in texts:
        outcomes += release.feed(text)
    outcomes += release.end()
    return Told(
        "".join(outcome.text for outcome in outcomes if isinstance(outcome, Released)),
        [outcome.text for outcome in outcomes if isinstance(outcome, Withheld)],
        [outcome.id for outcome in outcomes if isinstance(outcome, Dropped)],
        release.gap,
    )


def parts(case: Path) -> Iterator[tuple[str, str]]:
    _, *rest = re.split(r"^=== (\w+)\n", case.read_text("utf-8"), flags=re.MULTILINE)
    return zip(rest[::2], rest[1::2], strict=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_gate_releases_cited_paragraphs_for_any_chunk_size(case: Path, size: int) -> None:
    want = dict(parts(case))
    model = want["model"]
    got = told(model[at : at + size] for at in range(0, len(model), size))
    assert got == Told(
        want["reader"].strip("\n"),
        [text.strip("\n") for text in want.get("withheld", "").split("\n---\n") if text.strip()],
        want.get("dropped", "").split(),
        "gap" in want,
    )


def test_gate_releases_paragraph_when_next_one_begins() -> None:
    release = CitationGate(opened)
    assert list(release.feed("It is 41927 [^aaaaaaaa].\n\n")) == []
    assert list(release.feed("And another")) == [Released("It is 41927 [^aaaaaaaa].", ("aaaaaaaa",))]


@pytest.mark.parametrize(
    ("before", "want"),
    [
        ("It is 41927.", "It is 41927.[^aaaaaaaa]"),
        ("It is 41927.\n\n", "It is 41927.[^aaaaaaaa]"),
        ("Write:\n\n```\nx\n```\n", "Write:\n\n```\nx\n```\n\n[^aaaaaaaa]"),
        ("| a |\n|---|\n| 1 |", "| a |\n|---|\n| 1 |\n\n[^aaaaaaaa]"),
    ],
)
def test_gate_native_citation_supports_text_before_it(before: str, want: str) -> None:
    release = CitationGate(opened)
    outcomes = list(release.feed(before))
    release.cite("aaaaaaaa")
    outcomes += release.end()
    assert [outcome.text for outcome in outcomes if isinstance(outcome, Released)] == [want]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_gate_splits_paragraphs_at_any_line_end(end: str, size: int) -> None:
    text = "Anything.\n\nMade up.\n\nIt is 41927 [^aaaaaaaa].\n".replace("\n", end)
    got = told(text[at : at + size] for at in range(0, len(text), size))
    assert (got.text, got.withheld) == ("Made up.\n\nIt is 41927 [^aaaaaaaa].", ["Anything."])


def test_gate_discard_forgets_text_before_tool_call() -> None:
    release = CitationGate(opened)
    list(release.feed("Let me look that up [^none].\n\nOne moment.\n\n"))
    release.discard()
    outcomes = [*release.feed("It is 41927 [^aaaaaaaa]."), *release.end()]
    assert outcomes == [Released("It is 41927 [^aaaaaaaa].", ("aaaaaaaa",))]
    assert not release.gap


_CITED = ["[^aaaaaaaa]", "[^bbbbbbbb]", "[^cccccccc]", "[^none]", "[aaaaaaaa]", "^cccccccc]"]
_MARKUP = st.sampled_from([*_CITED, "```", "`", "\n", "\n\n", "- ", "1. ", "| a |", ":"])


@given(st.lists(_MARKUP | st.text("ab #~[]^\\\r", max_size=6), max_size=25), st.integers(1, 7))
def test_gate_never_releases_uncited_text(pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    got = told(text[at : at + size] for at in range(0, len(text), size))
    assert got == told([text])
    if got.text:
        assert {"aaaaaaaa", "bbbbbbbb"} >= set(re.findall(r"\[\^([0-9a-f]{8})\]", got.text)) != set()
    release = CitationGate(opened)
    for outcome in [*release.feed(text), *release.end()]:
        if isinstance(outcome, Released):
            assert outcome.cited
            assert set(outcome.cited) <= OPENED
