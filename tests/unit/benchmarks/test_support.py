"""Counting of the support benchmark."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import support

GOOD = "It is port 8000 on `pier-north`."
SECTION = {"id": "07f3277d", "title": "Ports", "text": "It is port 8000 on `pier-north`, the first pier."}


def make_row(*variants: Mapping[str, Any], **fields: Any) -> dict[str, Any]:
    return {"id": "a", "turn": 1, "question": "Which port?", "opened": [SECTION], "variants": list(variants), **fields}


def variant(kind: str, answer: str, *faults: str) -> dict[str, Any]:
    return {"kind": kind, "answer": answer, "faults": [{"text": fault, "why": ""} for fault in faults]}


def test_measure_counts_faithful_answers_without_marks() -> None:
    tally = support.measure([make_row(variant("faithful", GOOD), variant("faithful", "It is port 9753."))])
    shares = tally.shares()
    assert (shares["faithful_clean"], shares["precision"], tally.marks) == (0.5, 0.0, 1)
    assert tally.failures == ["wrong mark  a faithful: '9753'"]


def test_measure_counts_found_and_missed_faults_by_kind() -> None:
    tally = support.measure(
        [
            make_row(
                variant("wrong_value", "🚢 It is port 9753 on `pier-south`.", "9753"),
                variant("invented_name", "Use `--turbo` and pier-north.", "--turbo", "pier-north"),
                variant("reversed", "It is not port 8000.", "not"),
            )
        ]
    )
    shares = tally.shares()
    assert shares["found_by_kind"] == {"invented_name": 0.5, "reversed": 0.0, "wrong_value": 1.0}
    assert (shares["precision"], shares["faults_found"]) == (pytest.approx(2 / 3), 0.5)
    assert (shares["faulty_marked"], shares["faulty_marked_without_reversed"]) == (pytest.approx(2 / 3), 1.0)
    assert [failure.split("  ")[0] for failure in tally.failures] == ["wrong mark", "missed", "missed"]


def test_measure_counts_marked_share_in_utf16_units() -> None:
    tally = support.measure([make_row(variant("wrong_value", "🚢 9753", "9753"))])
    assert (tally.chars, tally.marked_chars) == (7, 4)


def test_faulty_answer_with_wrong_mark_only_counts_as_unmarked() -> None:
    tally = support.measure([make_row(variant("mixed", "It is port 9753, by tide.", "by tide"))])
    assert (tally.marked["mixed"], tally.right_marks, tally.marks) == (0, 0, 1)


def test_later_turn_is_checked_with_first_question() -> None:
    later = make_row(variant("faithful", "It is pier 77."), turn=2, question="And the pier?")
    first = make_row(question="Is it pier 77?")
    assert support.measure([later]).marks == 1
    assert support.measure([first, later]).marks == 0


def test_section_without_text_needs_site() -> None:
    section = {"id": "07f3277d", "title": "Ports"}
    with pytest.raises(SystemExit, match="--sites"):
        support.measure([make_row(variant("faithful", GOOD), opened=[section])])


def test_replies_measure_only_their_variants_and_replace_claims() -> None:
    row = make_row(variant("reversed", "It is not port 8000.", "not"), variant("faithful", "It is port 9753."))
    tally = support.measure([row], None, {("a", 1, 0): "1: not"})
    assert (tally.answers.total(), tally.marks, tally.right_marks, tally.found.total()) == (1, 1, 1, 1)
    assert support.measure([row], None, {("a", 1, 0): "none"}).marks == 0


def test_requests_contain_rules_sections_and_statements(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    labelled, requests = tmp_path / "a.jsonl", tmp_path / "requests.jsonl"
    labelled.write_text(
        json.dumps(make_row(variant("faithful", GOOD), variant("reversed", "It is not port 8000.", "not")))
    )
    monkeypatch.setattr(sys, "argv", ["support.py", "--labelled", str(labelled), "--requests", str(requests)])
    support.main()
    first, second = map(json.loads, requests.read_text().splitlines())
    assert (second["id"], second["turn"], second["variant"]) == ("a", 1, 1)
    assert "the first pier." in first["prompt"]
    assert f"1. {GOOD}" in first["prompt"]
    assert first["system"].startswith("You check an answer")


def test_last_line_of_output_is_json_with_shares(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, answer in (("a", GOOD), ("b", "It is port 9753.")):
        (tmp_path / f"{name}.jsonl").write_text(json.dumps(make_row(variant("faithful", answer))) + "\n")
    files = [str(tmp_path / "a.jsonl"), str(tmp_path / "b.jsonl")]
    monkeypatch.setattr(sys, "argv", ["support.py", "--labelled", *files])
    support.main()
    lines = capsys.readouterr().out.splitlines()
    assert json.loads(lines[-1])["faithful_clean"] == 0.5
    assert set(json.loads(lines[-1])) == {
        "faithful_clean",
        "precision",
        "faults_found",
        "faulty_marked",
        "faulty_marked_without_reversed",
        "marked_share",
        "found_by_kind",
    }
