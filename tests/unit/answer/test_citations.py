"""The citation gate: which text is released, and when."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.answer.citations import CitationGate, Dropped, GateResult, Released, Withheld

CASES = sorted((Path(__file__).parents[2] / "golden" / "citations").glob("*.txt"))
OPENED = {"aaaaaaaa", "bbbbbbbb"}


@dataclass(frozen=True)
class GateOutput:
    """The results of a gate for a complete text."""

    text: str
    withheld: list[str]
    dropped: list[str]
    gap: bool


def resolve(name: str) -> str | None:
    return name.lower() if name.lower() in OPENED else None


def run_gate(texts: Iterable[str]) -> GateOutput:
    gate = CitationGate(resolve)
    results: list[GateResult] = []
    for text in texts:
        results += gate.feed(text)
    results += gate.end()
    return GateOutput(
        "".join(result.text for result in results if isinstance(result, Released)),
        [result.text for result in results if isinstance(result, Withheld)],
        [result.id for result in results if isinstance(result, Dropped)],
        gate.gap,
    )


def parts(case: Path) -> Iterator[tuple[str, str]]:
    _, *rest = re.split(r"^=== (\w+)\n", case.read_text("utf-8"), flags=re.MULTILINE)
    return zip(rest[::2], rest[1::2], strict=True)


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.stem)
@pytest.mark.parametrize("size", [1, 3, 10_000])
def test_gate_releases_cited_paragraphs_for_any_chunk_size(case: Path, size: int) -> None:
    expected = dict(parts(case))
    model = expected["model"]
    output = run_gate(model[at : at + size] for at in range(0, len(model), size))
    assert output == GateOutput(
        expected["reader"].strip("\n"),
        [text.strip("\n") for text in expected.get("withheld", "").split("\n---\n") if text.strip()],
        expected.get("dropped", "").split(),
        "gap" in expected,
    )


def test_gate_releases_paragraph_when_next_one_begins() -> None:
    gate = CitationGate(resolve)
    assert list(gate.feed("It is 41927 [^aaaaaaaa].\n\n")) == []
    assert list(gate.feed("And another")) == [Released("It is 41927 [^aaaaaaaa].", ("aaaaaaaa",))]


@pytest.mark.parametrize(
    ("before", "expected"),
    [
        ("It is 41927.", "It is 41927.[^aaaaaaaa]"),
        ("It is 41927.\n\n", "It is 41927.[^aaaaaaaa]"),
        ("Write:\n\n```\nx\n```\n", "Write:\n\n```\nx\n```\n\n[^aaaaaaaa]"),
        ("| a |\n|---|\n| 1 |", "| a |\n|---|\n| 1 |\n\n[^aaaaaaaa]"),
    ],
)
def test_gate_native_citation_supports_text_before_it(before: str, expected: str) -> None:
    gate = CitationGate(resolve)
    results = list(gate.feed(before))
    gate.cite("aaaaaaaa")
    results += gate.end()
    assert [result.text for result in results if isinstance(result, Released)] == [expected]


@pytest.mark.parametrize("size", [1, 2, 3, 100])
@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_gate_splits_paragraphs_at_any_line_end(end: str, size: int) -> None:
    text = "Anything.\n\nMade up.\n\nIt is 41927 [^aaaaaaaa].\n".replace("\n", end)
    output = run_gate(text[at : at + size] for at in range(0, len(text), size))
    assert (output.text, output.withheld) == ("Made up.\n\nIt is 41927 [^aaaaaaaa].", ["Anything."])


def test_gate_discard_forgets_text_before_tool_call() -> None:
    gate = CitationGate(resolve)
    list(gate.feed("Let me look that up [^none].\n\nOne moment.\n\n"))
    gate.discard()
    results = [*gate.feed("It is 41927 [^aaaaaaaa]."), *gate.end()]
    assert results == [Released("It is 41927 [^aaaaaaaa].", ("aaaaaaaa",))]
    assert not gate.gap


_CITED = ["[^aaaaaaaa]", "[^bbbbbbbb]", "[^cccccccc]", "[^none]", "[aaaaaaaa]", "^cccccccc]"]
_MARKUP = st.sampled_from([*_CITED, "```", "`", "\n", "\n\n", "- ", "1. ", "| a |", ":"])


@given(st.lists(_MARKUP | st.text("ab #~[]^\\\r", max_size=6), max_size=25), st.integers(1, 7))
def test_gate_never_releases_uncited_text(pieces: list[str], size: int) -> None:
    text = "".join(pieces)
    output = run_gate(text[at : at + size] for at in range(0, len(text), size))
    assert output == run_gate([text])
    if output.text:
        assert {"aaaaaaaa", "bbbbbbbb"} >= set(re.findall(r"\[\^([0-9a-f]{8})\]", output.text)) != set()
    gate = CitationGate(resolve)
    for result in [*gate.feed(text), *gate.end()]:
        if isinstance(result, Released):
            assert result.cited
            assert set(result.cited) <= OPENED
