"""All public figures, with the dates and the commits that they result from.

    python -m benchmarks.public.all --data FOLDER [SET …]

FOLDER has the checkouts that the modules of the sets name, and the model that `vectors.py` names. The figures of the measured sets, by default all, are
recorded in `records/figures.json`; those of the others remain. From there they come to marked places of pages:

- `<!-- figures: SET TABLE; COLUMN; … -->` … `<!-- /figures -->` is a table with some columns, or all, and all methods,
- `<!-- figure: SET TABLE; METHOD; COLUMN -->` … `<!-- /figure -->` is one figure; the method is written without backticks,
- `<!-- run: SET -->` … `<!-- /run -->` is the day of a run, and the commit of its code.

A test compares the pages with the record; `UPDATE=1` lets it rewrite them.
"""

from __future__ import annotations

import argparse
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from . import answers, cookbook, newcomers, ray
from .corpus import Checkout, read_checkout
from .report import Measure, find_versions, iter_tables

ROOT = Path(__file__).parents[2]
FILE = answers.RECORDS / "figures.json"
MARKED = (ROOT / "README.md", ROOT / "docs/index.md", ROOT / "docs/explanation/how-well.md")
"""Pages with marked places."""
SETS: Mapping[str, Measure] = {"cookbook": cookbook.measure, "newcomers": newcomers.measure, "ray": ray.measure}
"""What measures each set."""


class Table(Struct, frozen=True):
    """A table: the head, and in each row the method and its figures."""

    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @classmethod
    def from_lines(cls, lines: Sequence[str]) -> Table:
        """Return the table of lines of Markdown."""
        head, _, *rows = (tuple(cell.strip() for cell in line.strip("|").split("|")) for line in lines)
        return cls(head, tuple(rows))

    def select(self, columns: Sequence[str]) -> Table:
        """Return the table with some columns only; a row without a figure in them is left out."""
        places = [0, *(self.head.index(column) for column in columns)]
        rows = [tuple(row[place] for place in places) for row in self.rows]
        known = (row for row in rows if any(cell != "–" for cell in row[1:]))
        return Table(tuple(self.head[place] for place in places), tuple(known))

    def lines(self) -> Iterator[str]:
        """Yield the lines of Markdown."""
        yield f"| {' | '.join(self.head)} |"
        yield "| --- |" + " --: |" * (len(self.head) - 1)
        yield from (f"| {row[0]} | {' | '.join(map(format_cell, row[1:]))} |" for row in self.rows)


class Run(Struct, frozen=True):
    """When figures were measured, with which commit of this repository, and with which versions of programs."""

    date: str
    code: Checkout
    versions: dict[str, str]


class SetFigures(Struct, frozen=True):
    """The figures of a set: what they were read from, counts, tables by title, and the run that measured them."""

    checkouts: tuple[Checkout, ...]
    facts: dict[str, int]
    tables: dict[str, Table]
    run: Run | None = None


Figures = dict[str, SetFigures]
"""The figures of the sets by name."""


def measure_set(name: str, data: Path) -> SetFigures:
    """Measure a set with the checkouts in a folder."""
    code = msgspec.structs.replace(read_checkout(Path(__file__).parent), name="mkdocs-roaming")
    run = Run(f"{datetime.now(UTC):%Y-%m-%d}", code, find_versions())
    with tempfile.TemporaryDirectory() as folder:
        report = SETS[name](data, Path(folder))
    tables = {title: Table.from_lines(lines) for title, lines in iter_tables(report)}
    print(f"{name}: measured", flush=True)
    return SetFigures(report.checkouts, report.facts, tables, run)


def read_figures() -> Figures:
    """Return the recorded figures of the sets that are measured."""
    return msgspec.json.decode(FILE.read_bytes(), type=Figures)


def read_answers(name: str) -> SetFigures:
    """Return the figures of a record of answers."""
    record = answers.read_record(name)
    return SetFigures(record.checkouts, {}, {"all": Table.from_lines(list(answers.iter_report(record.rows)))})


# Pages


def format_cell(text: str) -> str:
    """Return a figure as pages have it: `.868 (.810–.923)`, `82.2 % (77.6–86.4)`, `−5.3 %`."""
    percent = re.sub(r"%(?=[–)]| …)", "", text).replace("%", " %").replace("-", "−")
    return re.sub(r"(?<![\d.])0(?=\.\d{3})", "", percent)


def fill(text: str, figures: Figures) -> str:
    """Return a page with the recorded figures in its marked places.

    Raises:
        LookupError: There is no such set, table, method or column.
    """

    def table(match: re.Match[str]) -> str:
        found, columns = _split(match[2], figures)
        chosen = found.select(columns) if columns else found
        return f"{match[1]}\n\n" + "\n".join(chosen.lines()) + f"\n\n{match[4]}"

    def run(match: re.Match[str]) -> str:
        measured = figures[match[2]].run
        return f"{match[1]}{measured.date}, commit {measured.code.commit[:7]}{match[4]}" if measured else match[0]

    def figure(match: re.Match[str]) -> str:
        found, (method, column) = _split(match[2], figures)
        row = next((row for row in found.rows if row[0].replace("`", "") == method), None)
        if row is None:
            raise LookupError(match[2])
        value = row[found.head.index(column)].partition(" (")[0]
        return match[1] + format_cell(value) + match[4]

    text = re.sub(r"(<!-- figures: (.*?) -->)(.*?)(<!-- /figures -->)", table, text, flags=re.DOTALL)
    text = re.sub(r"(<!-- run: (.*?) -->)(.*?)(<!-- /run -->)", run, text)
    return re.sub(r"(<!-- figure: (.*?) -->)(.*?)(<!-- /figure -->)", figure, text)


def _split(place: str, figures: Figures) -> tuple[Table, list[str]]:
    address, *names = place.split("; ")
    name, _, title = address.partition(" ")
    return figures[name].tables[title], names


def make_pages() -> dict[Path, str]:
    """Return the texts that all pages have with the recorded figures, also those of answers."""
    figures = read_figures() | {f"{name}_answers": read_answers(name) for name in answers.SETS}
    return {file: fill(file.read_text("utf-8"), figures) for file in MARKED}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="Folder with the checkouts.")
    parser.add_argument("sets", nargs="*", metavar="SET", help=f"Sets: {', '.join(SETS)} (default: all).")
    options = parser.parse_args()
    figures = read_figures() | {name: measure_set(name, options.data) for name in options.sets or SETS}
    FILE.write_bytes(msgspec.json.encode(figures).replace(b"],[", b"],\n[").replace(b'},"', b'},\n"') + b"\n")
    for file, text in make_pages().items():
        file.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
