"""Measure the support check on labelled answers.

    python benchmarks/support.py --labelled FILE.jsonl [FILE.jsonl …] [--sites DIR] [--show]

Each line of a file is a question with the opened sections and several variants of an answer:

    {"id", "turn", "question", "opened": [{"id", "title", "text"}],
     "variants": [{"kind", "answer", "faults": [{"text", "why"}]}]}

A variant is `faithful`, or of a kind of fault: `wrong_value`, `invented_name`, `reversed`, `overreach`, `misattributed`,
`mixed`. A fault's text is an exact, unique part of the answer that no opened section supports. A mark is right if it
overlaps a fault, a fault is found if a mark overlaps it. `text` may be missing: it is then read from the published
site `DIR/<site>`, where `<site>` is the file's name without its ending.

The last line of the output is a JSON object with shares from 0 to 1 over all files.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mkdocs_roaming.answer.support.check import Mark, check_support, slice_utf16
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.targets import open_library


@dataclass(slots=True)
class Tally:
    """Counts over labelled answers; the counters are by kind of variant."""

    answers: Counter[str] = field(default_factory=Counter)
    marked: Counter[str] = field(default_factory=Counter)
    """Faithful answers with any mark, and faulty ones with a right mark."""
    faults: Counter[str] = field(default_factory=Counter)
    found: Counter[str] = field(default_factory=Counter)
    marks: int = 0
    right_marks: int = 0
    chars: int = 0
    marked_chars: int = 0
    failures: list[str] = field(default_factory=list)

    def add(self, other: Tally) -> None:
        for name in ("answers", "marked", "faults", "found"):
            getattr(self, name).update(getattr(other, name))
        for name in ("marks", "right_marks", "chars", "marked_chars"):
            setattr(self, name, getattr(self, name) + getattr(other, name))

    def shares(self) -> dict[str, Any]:
        faulty = [kind for kind in self.answers if kind != "faithful"]
        not_reversed = [kind for kind in faulty if kind != "reversed"]
        return {
            "faithful_clean": 1 - _share(self.marked["faithful"], self.answers["faithful"]),
            "precision": _share(self.right_marks, self.marks),
            "faults_found": _share(self.found.total(), self.faults.total()),
            "faulty_marked": _share(
                sum(self.marked[kind] for kind in faulty), sum(self.answers[kind] for kind in faulty)
            ),
            "faulty_marked_without_reversed": _share(
                sum(self.marked[kind] for kind in not_reversed), sum(self.answers[kind] for kind in not_reversed)
            ),
            "marked_share": _share(self.marked_chars, self.chars),
            "found_by_kind": {kind: _share(self.found[kind], self.faults[kind]) for kind in sorted(+self.faults)},
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--labelled", nargs="+", type=Path, required=True, metavar="FILE", help="labelled answers")
    parser.add_argument("--sites", type=Path, help="folder with the published sites of files without section texts")
    parser.add_argument("--show", action="store_true", help="print wrong marks and missed faults")
    options = parser.parse_args()
    total = Tally()
    for path in options.labelled:
        site = open_library(options.sites / path.stem) if options.sites else None
        rows = [json.loads(line) for line in path.read_text("utf-8").splitlines() if line.strip()]
        tally = measure(rows, site)
        total.add(tally)
        print_table(path.name, tally)
        if options.show:
            print(*tally.failures, sep="\n")
    if len(options.labelled) > 1:
        print_table("all files", total)
    print(json.dumps({name: _round(value) for name, value in total.shares().items()}))


def measure(rows: Sequence[Mapping[str, Any]], site: Library | None = None) -> Tally:
    """Check all variants of all questions.

    A later turn is checked with the question of the first one, as in a chat.
    """
    tally = Tally()
    first_questions = {row["id"]: row["question"] for row in rows if row.get("turn", 1) == 1}
    for row in rows:
        asked = [row["question"]] if row.get("turn", 1) == 1 else [first_questions.get(row["id"], ""), row["question"]]
        sections = {section["id"]: f"{section['title']}\n\n{_read(section, site)}" for section in row["opened"]}
        for variant in row["variants"]:
            _check_variant(row["id"], variant, sections, "\n".join(asked), tally)
    return tally


def _check_variant(
    id_: str, variant: Mapping[str, Any], sections: Mapping[str, str], question: str, tally: Tally
) -> None:
    kind, answer = variant["kind"], variant["answer"]
    marks = check_support(answer, sections, question=question).marks
    faults = [_find_fault(answer, fault["text"]) for fault in variant["faults"]]
    right = [mark for mark in marks if any(_overlaps(mark, *span) for span in faults)]
    found = [any(_overlaps(mark, *span) for mark in marks) for span in faults]
    tally.answers[kind] += 1
    tally.marked[kind] += bool(marks) if kind == "faithful" else bool(right)
    tally.faults[kind] += len(faults)
    tally.found[kind] += sum(found)
    tally.marks += len(marks)
    tally.right_marks += len(right)
    tally.chars += _utf16_length(answer)
    tally.marked_chars += sum(mark.end - mark.start for mark in marks)
    for mark in marks:
        if mark not in right:
            tally.failures.append(f"wrong mark  {id_} {kind}: {slice_utf16(answer, mark.start, mark.end)!r}")
    for fault, is_found in zip(variant["faults"], found, strict=True):
        if not is_found:
            tally.failures.append(f"missed      {id_} {kind}: {fault['text']!r} ({fault['why']})")


def _read(section: Mapping[str, str], site: Library | None) -> str:
    if "text" in section:
        return section["text"]
    entry = site.sections.get(section["id"]) if site else None
    if site is None or entry is None:
        raise SystemExit(f"section {section['id']} has no text; name the folder of published sites with --sites")
    return site.text(entry)


def _find_fault(answer: str, text: str) -> tuple[int, int]:
    start = _utf16_length(answer[: answer.index(text)])
    return start, start + _utf16_length(text)


def _overlaps(mark: Mark, start: int, end: int) -> bool:
    return mark.start < end and mark.end > start


def _utf16_length(text: str) -> int:
    return len(text.encode("utf-16-le", "surrogatepass")) // 2


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def _round(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: round(share, 4) for key, share in value.items()}
    return round(value, 4)


def print_table(name: str, tally: Tally) -> None:
    shares = tally.shares()
    print(f"\n{name}: {tally.answers.total()} answers, {tally.faults.total()} faults, {tally.marks} marks")
    clean = tally.answers["faithful"] - tally.marked["faithful"]
    print(f"faithful answers without a mark: {clean} of {tally.answers['faithful']}")
    print(f"right marks: {tally.right_marks} of {tally.marks} ({shares['precision']:.2f})")
    print(f"marked characters: {shares['marked_share']:.1%}")
    print("\n| kind | answers | marked | faults | found |\n| --- | --: | --: | --: | --: |")
    for kind in sorted(tally.answers):
        counts = (tally.answers[kind], tally.marked[kind], tally.faults[kind], tally.found[kind])
        print(f"| {kind} | {' | '.join(map(str, counts))} |")


if __name__ == "__main__":
    main()
