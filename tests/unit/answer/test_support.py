"""The support check: what it marks and what it never marks."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.answer.support.check import (
    GOOD_SUPPORT,
    MAX_MARK_CHARS,
    Support,
    check_support,
    slice_utf16,
)
from mkdocs_roaming.answer.support.evidence import MAX_PASSAGE_CHARS, split_segments

CASES = sorted((Path(__file__).parents[2] / "golden" / "support").glob("*.md"))
DOCS = {
    "07f3277d": "# Ports\n\nThe server listens on port 8000. Do not restart it before the drain has ended.",
    "1c0ffee1": "# Alerts\n\nAn alert is raised within 5 minutes. Use `--force` to skip the check.",
}


def show_marks(answer: str, found: Support) -> str:
    """Return the answer with brackets around its marks."""
    shown, position = "", 0
    for mark in found.marks:
        shown += f"{slice_utf16(answer, position, mark.start)}⟦{slice_utf16(answer, mark.start, mark.end)}⟧"
        position = mark.end
    return shown + slice_utf16(answer, position, len(answer.encode("utf-16-le")) // 2)


@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_check_support_marks_expected_text(file: Path) -> None:
    head, *blocks = re.split(r"^--- ([a-z0-9 ]+)\n", file.read_text("utf-8"), flags=re.MULTILINE)
    parts = dict(zip(blocks[::2], blocks[1::2], strict=True))
    sections = {name.removeprefix("section "): text for name, text in parts.items() if name.startswith("section ")}
    answer = re.sub("[⟦⟧]", "", parts["answer"])
    language = head.removeprefix("language:").strip() or "en"
    found = check_support(answer, sections, question=parts["question"], language=language)
    assert show_marks(answer, found) == parts["answer"]
    assert " ".join(mark.kind for mark in found.marks) == parts["kinds"].strip()


def test_mark_names_section_and_passage_of_nearest_statement() -> None:
    (mark,) = check_support("The server listens on port 8001.[^07f3277d]", DOCS).marks
    assert (mark.section, mark.passage) == ("07f3277d", "The server listens on port 8000.")
    long = {"07f3277d": "word " * 200}
    (mark,) = check_support("Every word is 7.", long).marks
    assert len(mark.passage) <= MAX_PASSAGE_CHARS


def test_mark_without_similar_statement_names_no_section() -> None:
    (mark,) = check_support("It is 17.", DOCS).marks
    assert (mark.section, mark.passage) == (None, "")


def test_score_is_share_of_text_without_marks() -> None:
    good, bad = "The server listens on port 8000.", "The server listens on port 8001."
    assert check_support(good, DOCS) == Support(1.0)
    assert check_support(f"{good} {bad}", DOCS).score == 0.5
    assert check_support(bad, DOCS).score == 0.0
    assert check_support("", DOCS) == Support(1.0)
    assert 0.5 < GOOD_SUPPORT <= 1


def test_offsets_are_utf16_units_of_answer_with_citations() -> None:
    answer = "😀 It is up.[^07f3277d] The server listens on port 8001.[^07f3277d]"
    (mark,) = check_support(answer, DOCS).marks
    assert mark.start == answer.index("8001") + 1
    assert slice_utf16(answer, mark.start, mark.end) == "8001"


def test_answer_without_sections_is_marked() -> None:
    (mark,) = check_support("The server listens on port 8000.", {}).marks
    assert (mark.kind, mark.section) == ("claim", None)


def test_claim_of_long_clause_is_cut() -> None:
    text = "Whales migrate " + "across the enormous oceans beneath an iceberg " * 5
    (mark,) = check_support(text, DOCS).marks
    assert (mark.kind, mark.end - mark.start) == ("claim", MAX_MARK_CHARS)


def test_split_segments_splits_very_long_sentences() -> None:
    text = "word " * 2_000 + "x" * 2_000
    found = split_segments(text)
    assert all(segment.end - segment.start <= 800 for segment in found)
    assert "".join(text[one.start : one.end] for one in found).replace(" ", "") == text.replace(" ", "")


# Hostile text


@given(
    st.text(alphabet=st.sampled_from("ab1_-`\"'*[]()|#>./:=~\\\n ,;不漢é😀\ud800"), max_size=120),
    st.text(max_size=80),
    st.text(max_size=20),
)
def test_marks_are_ordered_short_and_in_range(answer: str, section: str, question: str) -> None:
    found = check_support(answer, {"07f3277d": section}, question=question)
    edge = 0
    for mark in found.marks:
        assert edge <= mark.start < mark.end <= len(answer.encode("utf-16-le", "surrogatepass")) // 2
        assert len(slice_utf16(answer, mark.start, mark.end)) <= MAX_MARK_CHARS
        edge = mark.end


@settings(max_examples=60)
@given(
    st.lists(
        st.sampled_from(["The port is 8000.", "Do not `run --it` twice.", "No, never!", "- a list", "漢字。"]),
        min_size=1,
    )
)
def test_quoted_text_is_never_marked(quoted: list[str]) -> None:
    text = "\n\n".join(quoted)
    assert check_support(text, {"07f3277d": text}) == Support(1.0)
    assert check_support(f"{text}\n\nIt is 8001.", {"07f3277d": text}).marks
