"""docs/guides/evaluate.md matches `roaming eval`."""

from __future__ import annotations

import os
import re
from pathlib import Path

from reference import load_commands

from mkdocs_roaming.evals.questions import Question, parse_questions

from .conftest import Roaming

ROOT = Path(__file__).parents[3]
DOCS = ROOT / "docs/guides/evaluate.md"
QUESTIONS = ROOT / "sample_site" / "questions.yml"
OMITTED_COLUMNS = ("calls", "cited", "tokens", "seconds")


def test_documented_output_is_that_of_command(sample: Path, roaming: Roaming) -> None:
    """UPDATE=1 writes the output into the page."""
    result = roaming("eval", sample, QUESTIONS, "--compare", "search,offline")
    assert result.exit_code == 0
    printed = result.stdout.split("\n\nsearch: ")[0].split("\n")
    begin = next(at for at, line in enumerate(printed) if line.startswith("mode "))
    rows = printed[begin : begin + 3]
    starts = [match.start() for match in re.finditer(r"\S+", rows[0])]
    columns = [at for at, start in enumerate(starts) if rows[0][start:].split()[0] not in OMITTED_COLUMNS]
    ends = [*starts[1:], 1_000]
    printed[begin : begin + 3] = ["".join(row[starts[at] : ends[at]] for at in columns).rstrip() for row in rows]
    shown = "```text\n" + "\n".join(printed) + "\n```"
    text = DOCS.read_text("utf-8")
    (block,) = re.findall(r"^```text\n.*?^```$", text, re.MULTILINE | re.DOTALL)
    if os.environ.get("UPDATE"):
        DOCS.write_text(text.replace(block, shown), "utf-8")
    else:
        assert block == shown


def test_every_option_and_key_is_documented() -> None:
    text = DOCS.read_text("utf-8")
    options = [one for option in load_commands()["eval"].params for one in option.opts]
    wanted = [one for one in options if one.startswith("--") and one != "--output"]
    wanted += [f"| `{key}` |" for key in Question.__struct_fields__ if key not in ("number", "gold")]
    assert [one for one in wanted if one not in text] == []


def test_example_question_file_is_valid() -> None:
    (block,) = re.findall(r"^```yaml\n(.*?)^```$", DOCS.read_text("utf-8"), re.M | re.S)
    assert len(parse_questions(block, "docs").questions) == 2
