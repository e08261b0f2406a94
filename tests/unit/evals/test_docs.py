"""docs/guides/evaluate.md shows what `roaming eval` prints."""

from __future__ import annotations

import os
import re
from pathlib import Path

from .conftest import Roaming

DOCS = Path(__file__).parents[3] / "docs/guides/evaluate.md"
QUESTIONS = Path(__file__).parents[3] / "sample_site" / "questions.yml"
LEFT_OUT = ("calls", "cited", "tokens", "seconds")


def test_shown_figures_are_those_of_the_command(sample: Path, roaming: Roaming) -> None:
    """Ranks, rows and differences are what comes of the sample site. UPDATE_DOCS=1 writes them."""
    result = roaming("eval", sample, QUESTIONS, "--compare", "search,outline,offline")
    assert result.exit_code == 0
    printed = result.stdout.split("\n\nsearch: ")[0].split("\n")
    begin = next(at for at, line in enumerate(printed) if line.startswith("mode "))
    rows = printed[begin : begin + 4]
    starts = [match.start() for match in re.finditer(r"\S+", rows[0])]
    kept = [at for at, start in enumerate(starts) if rows[0][start:].split()[0] not in LEFT_OUT]
    ends = [*starts[1:], 1_000]
    printed[begin : begin + 4] = ["".join(row[starts[at] : ends[at]] for at in kept).rstrip() for row in rows]
    shown = "```text\n" + "\n".join(printed) + "\n```"
    text = DOCS.read_text("utf-8")
    (block,) = re.findall(r"^```text\n.*?^```$", text, re.MULTILINE | re.DOTALL)
    if os.environ.get("UPDATE_DOCS"):
        DOCS.write_text(text.replace(block, shown), "utf-8")
    else:
        assert block == shown
