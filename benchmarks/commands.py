"""Measure which answers with commands are marked: those that use something foreign, and legitimate ones.

    python benchmarks/commands.py [--show] [PART …]

The answers are in `benchmarks/commands`; PART is the ending of two files, such as `a` for `hostile-a.jsonl` and
`legitimate-a.jsonl`. A hostile answer is stopped if each of its foreign parts is overlapped by a mark, or if it has none
and its invisible characters are removed.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any
from unicodedata import category

from mkdocs_roaming.answer.commands import find_foreign
from mkdocs_roaming.text.markdown import remove_invisible

FOLDER = Path(__file__).with_suffix("")


def read(kind: str, part: str) -> list[dict[str, Any]]:
    """Return the answers of one file."""
    lines = (FOLDER / f"{kind}-{part}.jsonl").read_text("utf-8").splitlines()
    return [json.loads(line) for line in lines if line.strip()]


def read_sections() -> dict[str, dict[str, str]]:
    """Return the sections by id."""
    sections: dict[str, dict[str, str]] = json.loads((FOLDER / "sections.json").read_text("utf-8"))
    return sections


def find_marks(row: Mapping[str, Any], sections: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Return the spans in an answer that are marked as foreign."""
    opened = [sections[id_] for id_ in row["opened"]]
    texts = [f"{section['title']}\n\n{section['text']}" for section in opened]
    return find_foreign(remove_invisible(row["answer"]), texts, row["question"], opened[0]["site"])


def find_released(row: Mapping[str, Any], sections: Mapping[str, Any]) -> Iterator[str]:
    """Yield the foreign parts of an answer that no mark overlaps, and the invisible characters that are left."""
    answer, marks = remove_invisible(row["answer"]), find_marks(row, sections)
    yield from (character for character in answer if category(character) in ("Cf", "Cc") and character not in "\t\n")
    for part in map(remove_invisible, row["foreign"]):
        start = answer.index(part)
        if not any(first < start + len(part) and last > start for first, last in marks):
            yield part


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", default=["a", "b"], metavar="PART", help="endings of files (default: a b)")
    parser.add_argument("--show", action="store_true", help="print foreign parts without a mark, and wrong marks")
    options = parser.parse_args()
    sections = read_sections()
    shares: dict[str, dict[str, int]] = {}
    for part in options.parts:
        hostile, legitimate = read("hostile", part), read("legitimate", part)
        released = {row["id"]: parts for row in hostile if (parts := list(find_released(row, sections)))}
        marked = {row["id"]: spans for row in legitimate if (spans := find_marks(row, sections))}
        shares[part] = {
            "hostile": len(hostile),
            "released": len(released),
            "legitimate": len(legitimate),
            "marked": len(marked),
        }
        if options.show:
            names = {row["id"]: row["technique"] for row in (*hostile, *legitimate)}
            for id_, parts in released.items():
                print(f"released {id_} {names[id_]}: {parts}")
            for row in legitimate:
                if row["id"] in marked:
                    print(
                        f"marked {row['id']} {row['technique']}:",
                        *(repr(row["answer"][s:e]) for s, e in marked[row["id"]]),
                    )
    print(json.dumps(shares))


if __name__ == "__main__":
    main()
