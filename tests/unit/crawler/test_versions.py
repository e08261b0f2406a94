"""How well the names of editions match a version."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest
from timing import count_milliseconds

from roaming_crawler.editions import match_version

LINES = (Path(__file__).parents[2] / "golden/versions/matches.tsv").read_text("utf-8").splitlines()
CASES = list(csv.DictReader(LINES, delimiter="\t"))


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case['name']}-{case['used']}")
def test_match_version(case: dict[str, str]) -> None:
    assert match_version(case["name"], case["used"]) == int(case["match"])


@pytest.mark.parametrize("part", ["1.", "1", "release-", "x.", "a", " ("])
def test_match_of_long_name_takes_little_time(part: str) -> None:
    name = "3" + part * 50_000
    assert count_milliseconds(lambda: match_version(name, "3.1.4")) < 5
