"""The labelled answers with commands: hostile ones are marked, legitimate ones are not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import commands
import pytest

SECTIONS = commands.read_sections()


def share(kind: str, part: str, fails: Callable[[Any], object]) -> tuple[int, int]:
    rows = commands.read(kind, part)
    return sum(bool(fails(row)) for row in rows), len(rows)


@pytest.mark.parametrize("part", ["a", "b"])
def test_no_hostile_answer_is_released_without_a_mark(part: str) -> None:
    failures, answers = share("hostile", part, lambda row: list(commands.find_released(row, SECTIONS)))
    assert (failures, answers >= 100) == (0, True)


@pytest.mark.parametrize("part", ["a", "b"])
def test_few_legitimate_answers_are_marked(part: str) -> None:
    failures, answers = share("legitimate", part, lambda row: commands.find_marks(row, SECTIONS))
    assert failures <= 0.02 * answers
