"""Scores of a public set: halves, confidence intervals, and tables with published rows."""

from __future__ import annotations

import hashlib
import platform
import random
import sqlite3
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from importlib import metadata
from math import isnan, nan, sqrt
from pathlib import Path
from statistics import fmean
from typing import Literal

from msgspec import Struct

from mkdocs_roaming import __version__

from .corpus import Checkout

Half = Literal["develop", "unseen"]
PARTS: tuple[Half | Literal["all"], ...] = ("develop", "unseen", "all")

SEARCH_NAME = "`roaming search`"
"""The method whose gains over the others are reported."""
RESAMPLES = 2_000
SEED = 1
_Z = 1.959964  # of a 95 % interval


def choose_half(question: str) -> Half:
    """Return the half of a question, by a hash of its text: improvements are made by looking at `develop` only."""
    digest = hashlib.sha256(" ".join(question.split()).encode()).digest()
    return "unseen" if digest[0] % 2 else "develop"


# Scores


class Row(Struct, frozen=True):
    """The scores of one method for one question.

    Attributes:
        number: The number of the question in the set, from 1.
        half: The half of the question.
        method: The name of the method.
        scores: The scores by name.
        tokens: The tokens of the text that the method sends; None if they are not known.
        group: The part of the set that the question belongs to, such as a framework; empty if the set has none.
    """

    number: int
    half: Half
    method: str
    scores: dict[str, float]
    tokens: int | None = None
    group: str = ""


Figure = Callable[[Sequence[Row]], float]
"""A figure of some rows of one method."""


def mean_of(score: str) -> Figure:
    """Return the mean of a score over the rows that have it; NaN if none has."""

    def figure(rows: Sequence[Row]) -> float:
        values = [row.scores[score] for row in rows if score in row.scores]
        return fmean(values) if values else nan

    return figure


def mean_tokens(rows: Sequence[Row]) -> float:
    """Return the mean of the tokens; NaN if those of a row are not known."""
    return fmean(nan if row.tokens is None else row.tokens for row in rows)


class Column(Struct, frozen=True):
    """A column of a table: a figure with its name and format.

    Attributes:
        name: The head of the column, and the name of the figure in records.
        figure: Computes the figure.
        form: Its format.
        interval: Whether its confidence interval is printed.
    """

    name: str
    figure: Figure
    form: str = "{:.3f}"
    interval: bool = True


TOKENS = Column("tokens", mean_tokens, "{:,.0f}", interval=False)


# Confidence intervals


class Interval(Struct, frozen=True):
    """A 95 % confidence interval."""

    low: float
    high: float


def bootstrap_interval(rows: Sequence[Row], figure: Figure) -> Interval:
    """Return the percentile interval of a figure over resampled questions, with a fixed seed."""
    choose = random.Random(SEED).choices
    figures = sorted(figure(choose(rows, k=len(rows))) for _ in range(RESAMPLES))
    return _percentiles(figures)


def bootstrap_gain(rows: Sequence[Row], baseline: Sequence[Row], figure: Figure) -> tuple[float, Interval]:
    """Return how much higher a figure is than that of another method for the same questions, and its interval."""
    pairs = list(zip(rows, baseline, strict=True))
    if any((row.number, row.group) != (base.number, base.group) for row, base in pairs):
        raise ValueError("the rows are of different questions")
    choose = random.Random(SEED).choices
    gains = []
    for _ in range(RESAMPLES):
        sample = choose(pairs, k=len(pairs))
        gains.append(figure([row for row, _ in sample]) - figure([base for _, base in sample]))
    return figure(rows) - figure(baseline), _percentiles(sorted(gains))


def wilson_interval(successes: float, total: int) -> Interval:
    """Return the Wilson score interval of a share, such as 98 of 100."""
    if not total:
        return Interval(0.0, 1.0)
    share, square = successes / total, _Z * _Z
    center = (share + square / (2 * total)) / (1 + square / total)
    spread = _Z * sqrt(share * (1 - share) / total + square / (4 * total * total)) / (1 + square / total)
    return Interval(max(0.0, center - spread), min(1.0, center + spread))


def _percentiles(ordered: Sequence[float]) -> Interval:
    tail = round(0.025 * len(ordered))
    return Interval(ordered[tail], ordered[-1 - tail])


# Tables


def iter_table(rows: Iterable[Row], columns: Sequence[Column]) -> Iterator[str]:
    """Yield the lines of a Markdown table with a row for each method."""
    by_method = _group_by_method(rows)
    yield "| method | " + " | ".join(column.name for column in columns) + " |"
    yield "| --- |" + " --: |" * len(columns)
    for method, own in by_method.items():
        yield f"| {method} | " + " | ".join(format_figure(own, column) for column in columns) + " |"


def _group_by_method(rows: Iterable[Row]) -> dict[str, list[Row]]:
    by_method: dict[str, list[Row]] = {}
    for row in rows:
        by_method.setdefault(row.method, []).append(row)
    return by_method


def format_figure(rows: Sequence[Row], column: Column) -> str:
    """Return a figure of some rows, with its interval; a dash for one that is not known."""
    value = column.figure(rows)
    text = "–" if isnan(value) else column.form.format(value)
    if not column.interval or isnan(value):
        return text
    interval = bootstrap_interval(rows, column.figure)
    return f"{text} ({column.form.format(interval.low)}–{column.form.format(interval.high)})"


def iter_gains(rows: Iterable[Row], method: str, columns: Sequence[Column]) -> Iterator[str]:
    """Yield the lines of a Markdown table: how much higher the figures of a method are than those of each other one."""
    by_method = _group_by_method(rows)
    own = by_method.pop(method)
    yield f"| gain of {method} over | " + " | ".join(column.name for column in columns) + " |"
    yield "| --- |" + " --: |" * len(columns)
    for other, baseline in by_method.items():
        cells = []
        for column in columns:
            gain, interval = bootstrap_gain(own, baseline, column.figure)
            signed = column.form.replace("{:", "{:+")
            cells.append(
                " … ".join(map(signed.format, (interval.low, interval.high))).join((f"{signed.format(gain)} (", ")"))
            )
        yield f"| {other} | " + " | ".join(cells) + " |"


# Sets


class Group(Struct, frozen=True):
    """A part of a set that has a table of its own.

    Attributes:
        title: The head of its table.
        columns: The columns of its table.
    """

    title: str
    columns: tuple[Column, ...]


class SetReport(Struct, frozen=True):
    """All that a set's command has measured.

    Attributes:
        name: The name of the set.
        checkouts: What it was read from.
        facts: Counts of the corpus and of its mapping.
        rows: The scores of each method for each question.
        columns: The columns of its table.
        gains: The columns of the table of gains.
        groups: The groups with tables of their own, by the name in their rows.
    """

    name: str
    checkouts: tuple[Checkout, ...]
    facts: dict[str, int]
    rows: tuple[Row, ...]
    columns: tuple[Column, ...]
    gains: tuple[Column, ...] = ()
    groups: dict[str, Group] = {}


Measure = Callable[[Path, Path], SetReport]
"""Measures a set: from the folder that has its checkouts, and an empty folder for libraries.

Raises:
    SystemExit: The set is not in the folder, or cannot be mapped to sections.
"""


def iter_tables(report: SetReport) -> Iterator[tuple[str, list[str]]]:
    """Yield the tables of each half and of the whole with their titles."""
    for part in PARTS:
        chosen = [row for row in report.rows if part in ("all", row.half)]
        yield part, list(iter_table(chosen, report.columns))
        if report.gains:
            yield f"{part}, gains", list(iter_gains(chosen, SEARCH_NAME, report.gains))
        for name, group in report.groups.items():
            if own := [row for row in chosen if row.group == name]:
                yield f"{part}, {group.title}", list(iter_table(own, group.columns))


def find_versions() -> dict[str, str]:
    """Return the versions of the programs that affect the figures."""
    versions = {
        "mkdocs-roaming": __version__,
        "python": platform.python_version(),
        "sqlite": sqlite3.sqlite_version,
    }
    with suppress(metadata.PackageNotFoundError):
        versions[_MODEL_RUNTIME] = metadata.version(_MODEL_RUNTIME)
    return versions


_MODEL_RUNTIME = "onnxruntime"
