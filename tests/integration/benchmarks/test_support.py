"""The support check on the labelled answers about the sample site."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import support

from mkdocs_roaming.library.targets import open_library

LABELLED = Path(__file__).parents[3] / "benchmarks" / "support" / "sample.jsonl"


@pytest.fixture(scope="module")
def shares(sample: Path) -> dict[str, float]:
    rows = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]
    found: dict[str, float] = support.measure(rows, open_library(sample)).shares()
    return found


@pytest.mark.parametrize(
    ("share", "minimum"),
    [("faithful_clean", 0.97), ("precision", 0.97), ("faults_found", 0.65), ("faulty_marked_without_reversed", 0.85)],
)
def test_support_check_reaches_minimum_on_labelled_answers(
    shares: dict[str, float], share: str, minimum: float
) -> None:
    assert shares[share] >= minimum


def test_labelled_answers_contain_every_kind() -> None:
    kinds = {
        variant["kind"] for line in LABELLED.read_text("utf-8").splitlines() for variant in json.loads(line)["variants"]
    }
    assert kinds == {"faithful", "wrong_value", "invented_name", "reversed", "overreach", "misattributed", "mixed"}
