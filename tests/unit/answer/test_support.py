"""The support check: scores, sections and marks."""

from __future__ import annotations

import json
import re
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mkdocs_roaming.answer.support.check import Support, check_support, strip_citations
from mkdocs_roaming.answer.support.matching import credit_section, score_piece, split_words, word_and_trigram_set
from mkdocs_roaming.answer.support.text import split_segments

GOLDEN = Path(__file__).parents[2] / "golden" / "support"
VECTORS = json.loads((GOLDEN / "annotate_support.json").read_text("utf-8"))
DOCS = {
    "07f3277d": "# Ports\n\nThe server listens on port 8000. Do not restart it before the drain has ended.",
    "1c0ffee1": "# Alerts\n\nAn alert is raised within 5 minutes. Use `--force` to skip the check.",
}


def cut(found: Support, start: int, end: int) -> str:
    """Return a slice by UTF-16 code units, as a browser does."""
    units = found.text.encode("utf-16-le", "surrogatepass")
    return units[2 * start : 2 * end].decode("utf-16-le", "surrogatepass")


def format_marks(found: Support) -> str:
    lines: list[str] = []
    for sentence in found.sentences:
        lines.append(cut(found, sentence.start, sentence.end))
        for mark in sentence.marks:
            what = "" if mark.kind == "sentence" else f" {cut(found, mark.start, mark.end)}"
            lines.append(f"    {mark.kind}{what}")
    return "\n".join(lines)


@pytest.mark.parametrize("case", VECTORS["cases"], ids=lambda case: case["name"])
def test_overlap_scores_match_published_method(case: dict[str, list[object]]) -> None:
    stop = set(VECTORS["stop"]).__contains__
    sections = [word_and_trigram_set(split_words(text)) for text in case["sections"]]
    uncredited, worth, length = 0, 0.0, 0
    for texts, expected in case["groups"]:
        pieces = [score_piece(split_words(text), sections, stop) for text in texts]
        found = credit_section(pieces, uncredited=uncredited)
        uncredited = found.uncredited
        assert found.section is not None
        assert f"{found.section + 1},{round(found.score + 1e-9, 2)}" == expected
        worth += sum(max(one.scores) * one.length for one in pieces)
        length += sum(one.length for one in pieces)
    assert worth / length == pytest.approx(case["whole"], abs=0.001)


def test_overlap_scores_match_published_totals() -> None:
    unreached = [
        (case["name"], published)
        for case in VECTORS["cases"]
        for published in case["published"]
        if published not in [expected for _, expected in case["groups"]]
    ]
    assert unreached == [("published example", "1,0.7")]


@pytest.mark.parametrize(("texts", "text", "score"), VECTORS["words"])
def test_overlap_scores_words_as_published(texts: list[str], text: str, score: float) -> None:
    sections = [word_and_trigram_set(split_words(each)) for each in texts]
    assert max(score_piece(split_words(text), sections, set(VECTORS["stop"]).__contains__).scores) == score


def test_trigrams_include_neighboring_signs() -> None:
    assert word_and_trigram_set(split_words("(cat=")) == {"(ca", "cat", "at="}
    assert word_and_trigram_set(["ab", "cat", "cd"]) == {"ab", "cat", "cd"}


@pytest.mark.parametrize("file", sorted((GOLDEN / "marks").glob("*.txt")), ids=lambda file: file.stem)
def test_check_support_marks_unsupported_text(file: Path) -> None:
    head, *blocks = re.split(r"^== (\w+)\n", file.read_text("utf-8"), flags=re.MULTILINE)
    language = head.removeprefix("language:").strip() or "en"
    texts = dict(zip(blocks[::2], blocks[1::2], strict=True))
    expected = texts.pop("answers")
    answers = re.sub(r"^    .*\n", "", expected, flags=re.MULTILINE)
    fences = re.findall(r"^```.*\n", answers, flags=re.MULTILINE)
    found = format_marks(
        check_support(re.sub(r"\n(?!$)", "\n\n", answers) if not fences else answers, texts, language=language)
    )
    assert found == re.sub(r"^```.*\n", "", expected, flags=re.MULTILINE).rstrip("\n")


def test_check_support_names_best_section_of_each_sentence() -> None:
    found = check_support("The server listens on port 8000. Use `--force` to skip the check.", DOCS)
    assert [(each.section, each.score, each.marks) for each in found.sentences] == [
        ("07f3277d", 1.0, ()),
        ("1c0ffee1", 1.0, ()),
    ]
    assert found.score == 1.0


def test_check_support_prefers_section_that_states_sentence() -> None:
    words = "A server starts. Nothing listens here. Every port is closed. The number 8000 is large. On and on."
    (sentence,) = check_support("The server listens on port 8000.", {"00000000": words, **DOCS}).sentences
    assert sentence.section == "07f3277d"


def test_check_support_splits_very_long_sentences() -> None:
    text = "word " * 2_000 + "x" * 2_000
    found = split_segments(text)
    assert all(stretch.end - stretch.start <= 800 for stretch in found)
    assert "".join(text[stretch.start : stretch.end] for stretch in found).replace(" ", "") == text.replace(" ", "")


def test_check_support_names_no_section_for_unsupported_sentence() -> None:
    (sentence,) = check_support("Whales migrate thousands of miles every winter.", DOCS).sentences
    assert sentence.section is None
    assert [mark.kind for mark in sentence.marks] == ["sentence"]


def test_check_support_without_sections_supports_nothing() -> None:
    (sentence,) = check_support("The server listens on port 8000.", {}).sentences
    assert sentence.section is None
    assert {mark.kind for mark in sentence.marks} == {"sentence", "number"}
    assert check_support("", DOCS) == Support("", (), 1.0)


def test_check_support_offsets_are_utf16_units() -> None:
    found = check_support("😀 It is up.[^07f3277d] The server listens on port 8001.[^07f3277d]", DOCS)
    (mark,) = found.unsupported
    assert found.text == "😀 It is up. The server listens on port 8001."
    assert (mark.kind, cut(found, mark.start, mark.end)) == ("number", "8001")
    assert mark.start == found.text.index("8001") + 1


def test_strip_citations_removes_only_section_citations() -> None:
    assert strip_citations("a[^07f3277d] b[^1] c[^07F3277D]") == "a b[^1] c[^07F3277D]"


def test_check_support_result_is_json_and_deterministic() -> None:
    answer = "The server listens on port 8001. Restart it before the drain has ended."
    found = check_support(answer, DOCS)
    assert json.loads(json.dumps(asdict(found)))["sentences"][0]["marks"] == [
        {"kind": "number", "start": 27, "end": 31}
    ]
    assert check_support(answer, DOCS) == found


HOSTILE = {
    "a word without end": "a" * 100_000,
    "digits without end": "1" * 100_000,
    "dashes": "-" * 60_000,
    "backticks": "`" * 60_000,
    "runs of backticks": "".join("`" * length + " " for length in range(1, 300)),
    "an unclosed fence": "```\n" + "x = 1\n" * 3_000,
    "open links": "](" * 30_000,
    "open quotes": '"a' * 20_000,
    "lone surrogates": "\ud800 not \udc00 8000 " * 1_000,
    "underscores": "a_" * 30_000,
    "quotes in quotes": "> " * 30_000,
    "one character": "不" * 20_000,
    "code in code": "`a``b" * 12_000,
    "statements": "b!\n\n" * 5_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_check_support_handles_hostile_text(text: str) -> None:
    assert check_support(text[:5_000], {"07f3277d": text}).text == text[:5_000]
    check_support(text, DOCS)


@settings(max_examples=150, deadline=None)
@given(
    st.text(alphabet=st.sampled_from("ab1_-`\"'*[]()|#>./:=~\\\n 不漢é😀\ud800"), max_size=120), st.text(max_size=80)
)
def test_check_support_spans_are_ordered_and_in_range(answer: str, section: str) -> None:
    found = check_support(answer, {"07f3277d": section, "1c0ffee1": answer})
    edge = 0
    for sentence in found.sentences:
        assert edge <= sentence.start < sentence.end <= len(found.text.encode("utf-16-le", "surrogatepass")) // 2
        edge = sentence.end
        inside = sentence.start
        for mark in (mark for mark in sentence.marks if mark.kind != "sentence"):
            assert inside <= mark.start < mark.end <= sentence.end
            inside = mark.end


@settings(max_examples=60, deadline=None)
@given(
    st.lists(
        st.sampled_from(["The port is 8000.", "Do not `run --it` twice.", "No, never!", "- a list", "漢字。"]),
        min_size=1,
    )
)
def test_check_support_never_marks_quoted_text(quoted: list[str]) -> None:
    text = "\n\n".join(quoted)
    assert check_support(text, {"07f3277d": text}).unsupported == ()
