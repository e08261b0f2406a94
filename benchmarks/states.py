"""Measure the states of answers on labelled ones.

    python benchmarks/states.py benchmarks/states/answers.jsonl [FILE.jsonl …] [--show]

Each line is `{"id", "question", "answer", "state"}`. The last line of the output is a JSON object: the number of answers,
and the share whose state is right.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from mkdocs_roaming.answer.statements import find_statements, judge_state


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="+", type=Path, help="Labelled answers.")
    parser.add_argument("--show", action="store_true", help="Print the answers with a wrong state.")
    options = parser.parse_args()
    rows = [json.loads(line) for file in options.files for line in file.read_text("utf-8").splitlines()]
    wrong = [row for row in rows if judge(row) != row["state"]]
    for row in wrong if options.show else ():
        print(f"{row['id']}: {row['state']}, judged {judge(row)}\n  {row['question']}\n  {row['answer']!r}")
    for (state, judged), count in sorted(count_states(rows).items()):
        print(f"{state:10} judged {judged:10} {count:4}")
    print(json.dumps({"answers": len(rows), "right": round(1 - len(wrong) / len(rows), 4)}))


def judge(row: dict[str, Any]) -> str:
    """Return the state of a labelled answer by its text."""
    return judge_state(row["question"], list(find_statements(row["answer"])), "en")


def count_states(rows: Iterable[dict[str, Any]]) -> Counter[tuple[str, str]]:
    """Return how many answers there are of each labelled and judged state."""
    return Counter((row["state"], judge(row)) for row in rows)


if __name__ == "__main__":
    main()
