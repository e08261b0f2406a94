"""All public figures on one page, with the date and the commits that they result from.

    python -m benchmarks.public.all --data FOLDER

FOLDER has the checkouts that the commands of the sets name, and the model that `vectors.py` names. The figures are recorded in `records/figures.json`; from
there they come to the page of public figures, and to marked places of other pages:

- `<!-- figures: SET TABLE; COLUMN; … -->` … `<!-- /figures -->` is a table with some columns, or all, and all methods,
- `<!-- figure: SET TABLE; METHOD; COLUMN -->` … `<!-- /figure -->` is one figure; the method is written without backticks.

A test compares all pages with the record; `UPDATE_DOCS=1` lets it rewrite them.
"""

from __future__ import annotations

import argparse
import inspect
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import msgspec
from msgspec import Struct

from . import answers, contextual, cookbook, newcomers, ray, vue, ways
from .agents import report as agents
from .corpus import Checkout, read_checkout
from .report import Measure, SetReport, iter_tables, make_record

ROOT = Path(__file__).parents[2]
RECORDS = Path(__file__).parent / "records"
FILE = RECORDS / "figures.json"
PAGE = ROOT / "docs/explanation/public-figures.md"
MARKED = (ROOT / "README.md", ROOT / "docs/index.md", ROOT / "docs/explanation/how-well.md")
"""Pages with marked places."""
SETS: Mapping[str, tuple[str, Measure, str]] = {
    module.__name__.rpartition(".")[2]: (title, module.measure, inspect.cleandoc(module.__doc__ or ""))
    for title, module in (
        ("Anthropic's cookbook", cookbook),
        ("Newcomers", newcomers),
        ("Ray's users", ray),
        ("Contextual retrieval", contextual),
        ("Vue Docs MCP", vue),
    )
}
"""The title of each set, what measures it, and its description."""
TUNED = ("cookbook", "vue")
"""The sets of which one half was looked at while search was improved; the other half has a table of its own."""


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


class SetFigures(Struct, frozen=True):
    """The figures of a set: what they were read from, counts, tables by title, and who answered by hand."""

    checkouts: tuple[Checkout, ...]
    facts: dict[str, int]
    tables: dict[str, Table]
    note: str = ""


class Figures(Struct, frozen=True):
    """All figures.

    Attributes:
        date: The day of the run.
        code: The commit of this repository.
        versions: The versions of the programs that affect the figures.
        sets: The figures of the sets by name.
    """

    date: str
    code: Checkout
    versions: dict[str, str]
    sets: dict[str, SetFigures]


def measure_all(data: Path) -> Figures:
    """Measure every set.

    Args:
        data: The folder with the checkouts.
    """
    sets: dict[str, SetFigures] = {}
    for name, (_, measure, _) in SETS.items():
        with tempfile.TemporaryDirectory() as folder:
            sets[name] = make_figures(measure(data, Path(folder)))
        print(f"{name}: measured", flush=True)
    versions = make_record("", (), {}, ()).versions
    code = msgspec.structs.replace(read_checkout(Path(__file__).parent), name="mkdocs-roaming")
    return Figures(f"{datetime.now(UTC):%Y-%m-%d}", code, versions, sets)


def make_figures(report: SetReport) -> SetFigures:
    """Return the figures of a set."""
    tables = {title: Table.from_lines(lines) for title, lines in iter_tables(report)}
    return SetFigures(report.checkouts, report.facts, tables)


def read_figures(file: Path = FILE) -> Figures:
    """Return the recorded figures, and those of the records of answers by hand."""
    figures = msgspec.json.decode(file.read_bytes(), type=Figures)
    by_hand = {name: read(RECORDS / f"{name}.json") for name, (_, read) in BY_HAND.items()}
    return msgspec.structs.replace(figures, sets={**figures.sets, **by_hand})


def read_answers(file: Path) -> SetFigures:
    """Return the figures of a record of answers."""
    record = msgspec.json.decode(file.read_bytes(), type=answers.AnswerRecord)
    note = f"Answered by {record.answered_by}. Graded by {record.graded_by}."
    tables = {"all": Table.from_lines(list(answers.iter_report(record.rows)))}
    if record.ways:
        tables["ways"] = Table.from_lines(list(ways.iter_ways_lines(record.ways)))
    return SetFigures(record.checkouts, {}, tables, note)


def read_agents(file: Path) -> SetFigures:
    """Return the figures of a record of what agents wrote."""
    record = msgspec.json.decode(file.read_bytes(), type=agents.AgentRecord)
    tables = {title: Table.from_lines(lines) for title, lines in agents.iter_tables(record)}
    return SetFigures(record.checkouts, {}, tables, f"Solved by {record.agent}.")


BY_HAND: Mapping[str, tuple[str, Callable[[Path], SetFigures]]] = {
    "cookbook_answers": ("Answers about Anthropic's cookbook", read_answers),
    "newcomers_answers": ("Answers to newcomers", read_answers),
    "agents": ("Agents that write code", read_agents),
}
"""The title of each record of answers by hand, and what reads it."""


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

    def figure(match: re.Match[str]) -> str:
        found, (method, column) = _split(match[2], figures)
        row = next((row for row in found.rows if row[0].replace("`", "") == method), None)
        if row is None:
            raise LookupError(match[2])
        value = row[found.head.index(column)].partition(" (")[0]
        return match[1] + format_cell(value) + match[4]

    text = re.sub(r"(<!-- figures: (.*?) -->)(.*?)(<!-- /figures -->)", table, text, flags=re.DOTALL)
    return re.sub(r"(<!-- figure: (.*?) -->)(.*?)(<!-- /figure -->)", figure, text)


def _split(place: str, figures: Figures) -> tuple[Table, list[str]]:
    address, *names = place.split("; ")
    name, _, title = address.partition(" ")
    return figures.sets[name].tables[title], names


def make_page(figures: Figures) -> str:
    """Return the page of all public figures."""
    versions = ", ".join(f"{name} {version}" for name, version in figures.versions.items() if name != "mkdocs-roaming")
    lines = [
        "# Public figures",
        "",
        f"Measured on {figures.date} with `{figures.code}` ({versions}) by one command, which also writes this page:",
        "",
        "```console",
        "python -m benchmarks.public.all --data FOLDER",
        "```",
        "",
        "Rows with “(published)” are computed from what others published. Figures in brackets are 95 % intervals.",
        "Tables of the half of the questions that search was improved with are printed by the commands of the sets.",
        *(line for name in SETS for line in _iter_set(name, figures.sets[name])),
        "",
        "## Played by hand",
        "",
        "Readers stood for the model, from the requests that the product sends. No command reproduces these figures; those with",
        "the names of the sets do the same with a model.",
        *(line for name, (title, _) in BY_HAND.items() for line in _iter_by_hand(title, figures.sets[name])),
    ]
    return "\n".join(lines) + "\n"


def _iter_set(name: str, figures: SetFigures) -> Iterator[str]:
    title, _, description = SETS[name]
    yield f"\n## {title}\n\n{description}\n"
    yield f"Read from {', '.join(f'`{checkout}`' for checkout in figures.checkouts)}.\n"
    yield "; ".join(f"{fact}: {count:,}" for fact, count in figures.facts.items()) + "."
    for part, table in figures.tables.items():
        if part.startswith("all") or (part == "unseen" and name in TUNED):
            yield f"\n### {title}: {part}\n"
            yield from table.lines()


def _iter_by_hand(title: str, figures: SetFigures) -> Iterator[str]:
    yield f"\n### {title}\n"
    yield f"{figures.note} Read from {', '.join(f'`{checkout}`' for checkout in figures.checkouts)}."
    for part, table in figures.tables.items():
        yield "" if part == "all" else f"\n#### {title}: {part}\n"
        yield from table.lines()


def make_pages(figures: Figures) -> dict[Path, str]:
    """Return the texts that all pages have with the figures."""
    return {PAGE: make_page(figures), **{file: fill(file.read_text("utf-8"), figures) for file in MARKED}}


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, required=True, help="Folder with the checkouts.")
    figures = measure_all(parser.parse_args().data)
    FILE.write_bytes(msgspec.json.encode(figures).replace(b"],[", b"],\n[").replace(b'},"', b'},\n"') + b"\n")
    for file, text in make_pages(read_figures()).items():
        file.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
