"""The questions of the benchmark about declining, on the sample site."""

from __future__ import annotations

import json
from pathlib import Path

import declining
import pytest


def test_choose_names_returns_identifiers_and_options_of_code_spans(
    sample: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declining, "NAMES", 1_000)
    names = declining.Site(str(sample)).choose_names()

    assert "--drain-window" in names
    assert not any(" " in name or name.lower() in declining.CONSTANTS for name in names)


def test_may_answer_needs_both_of_the_rarest_words_in_one_section(sample: Path) -> None:
    site = declining.Site(str(sample))

    assert site.may_answer(site.rarest("What is the drain window?"))
    assert not site.may_answer(site.rarest("Does the drain window rebase a branch of git?"))
    assert site.rarest("What is it?") == ()


def test_main_prints_names_and_curves(
    sample: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    questions = tmp_path / "questions.jsonl"
    questions.write_text(json.dumps({"ask": "default of the drain window", "kind": "plain", "sections": []}) + "\n")
    monkeypatch.setattr("sys.argv", ["declining.py", f"{sample}={questions}", "--show"])

    declining.main()

    printed = capsys.readouterr().out
    assert "how do I use X" in printed
    assert "plain                     0%" in printed
