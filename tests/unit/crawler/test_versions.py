"""How well names match a version."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from roaming_crawler.variants import match_version

LINES = (Path(__file__).parents[2] / "golden/versions/matches.tsv").read_text("utf-8").splitlines()
CASES = list(csv.DictReader(LINES, delimiter="\t"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['name']}-{case['used']}")
def test_match_version(case: dict[str, str]) -> None:
    assert match_version(case["name"], case["used"]) == int(case["match"])
