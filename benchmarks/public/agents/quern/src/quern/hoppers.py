"""Hoppers, which feed raw records to a run."""

from __future__ import annotations

import asyncio
import csv
import gzip
import inspect
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Any, TextIO

from quern.errors import LotError, PlanError, Refusal, RunError, SourceBusy

Raw = tuple[int, dict[str, Any], Refusal | None]
_RETRIED = (SourceBusy, ConnectionError, TimeoutError)


class Hopper:
    """Base of hoppers.

    Args:
        label: Name of the source in the ledger.
    """

    def __init__(self, label: str) -> None:
        self.label = label

    def records(self) -> Iterator[Raw]:
        """Yield `(line, record, refusal)`: refusal is None, or says why this line holds no record."""
        raise NotImplementedError

    async def arecords(self) -> AsyncIterator[Raw]:
        """Yield the same from asynchronous code."""
        for raw in self.records():
            yield raw


class RowsHopper(Hopper):
    """Records that are in memory. The first has the line 1.

    Args:
        rows: Mappings from header to raw value. They are not changed.
        label: Name of the source in the ledger.
    """

    def __init__(self, rows: Iterable[Mapping[str, Any]], label: str = "rows") -> None:
        super().__init__(label)
        self.rows = rows

    def records(self) -> Iterator[Raw]:
        """Yield the records."""
        for line, row in enumerate(self.rows, 1):
            yield line, dict(row), None


class FileHopper(Hopper):
    """Base of hoppers of files. A name that ends in `.gz` is decompressed.

    Args:
        path: The file.
        encoding: Encoding of the text. The default removes a byte order mark. Bytes that do not decode become U+FFFD.
    """

    def __init__(self, path: str | Path, encoding: str = "utf-8-sig") -> None:
        self.path = Path(path)
        self.encoding = encoding
        super().__init__(self.path.name)

    def open(self) -> TextIO:
        """Open the file as text."""
        if not self.path.is_file():
            raise RunError("Q306", f"no file {self.path}")
        if self.path.suffix == ".gz":
            return gzip.open(self.path, "rt", encoding=self.encoding, errors="replace", newline="")
        return self.path.open(encoding=self.encoding, errors="replace", newline="")


class CsvHopper(FileHopper):
    """Records of a CSV file. The header is line 1; a record has the number of the line on which it ends.

    Args:
        path: The file.
        delimiter: Delimiter. None: whichever of comma, semicolon, tab and bar is most frequent in the header.
        ragged: What happens to lines with more or fewer cells than the header: `"refuse"` (Q204), or `"pad"`: missing
            cells are blank and surplus cells are ignored.
        skip: Number of lines before the header, such as a title.
        encoding: See `FileHopper`.
    """

    def __init__(
        self,
        path: str | Path,
        *,
        delimiter: str | None = None,
        ragged: str = "refuse",
        skip: int = 0,
        encoding: str = "utf-8-sig",
    ) -> None:
        super().__init__(path, encoding)
        if ragged not in {"refuse", "pad"}:
            raise PlanError("Q102", f"ragged is 'refuse' or 'pad', not {ragged!r}")
        self.delimiter = delimiter
        self.ragged = ragged
        self.skip = skip

    def records(self) -> Iterator[Raw]:
        """Yield the records. Lines without any cell are skipped."""
        with self.open() as file:
            for _ in range(self.skip):
                file.readline()
            first = file.readline()
            delimiter = self.delimiter or max(",;\t|", key=first.count)
            header = next(csv.reader([first], delimiter=delimiter), [])
            reader = csv.reader(file, delimiter=delimiter)
            for cells in reader:
                if cells:
                    record = dict(zip(header, [*cells, *[""] * (len(header) - len(cells))], strict=False))
                    ragged = len(cells) != len(header) and self.ragged == "refuse"
                    refusal = Refusal("Q204", f"{len(cells)} cells, header has {len(header)}") if ragged else None
                    yield self.skip + 1 + reader.line_num, record, refusal


class JsonLinesHopper(FileHopper):
    """Records of a file with one JSON object a line. The first line is line 1; blank lines are skipped.

    Objects inside of a record are flattened: `{"site": {"code": 7}}` has the header `site.code`, which is `site_code`
    after normalisation. Numbers with a fraction are read as `Decimal`.
    """

    def records(self) -> Iterator[Raw]:
        """Yield the records. A line that is no JSON object is refused with Q203."""
        with self.open() as file:
            for line, text in enumerate(file, 1):
                if not text.strip():
                    continue
                try:
                    record = json.loads(text, parse_float=Decimal)
                except ValueError:
                    record = None
                if isinstance(record, dict):
                    yield line, dict(_flatten(record)), None
                else:
                    yield line, {"text": text.strip()}, Refusal("Q203", "no JSON object")


@dataclass(frozen=True)
class Patience:
    """How often and how long a `FetchHopper` waits for its source.

    `SourceBusy`, `ConnectionError` and `TimeoutError` are retried; other exceptions leave the run unchanged. Each page
    has all attempts again. When they are used up, the run ends with Q302.

    Args:
        again: Number of attempts after the first.
        pause: Seconds before the second attempt.
        growth: Factor by which each further pause is longer.
        ceiling: Longest pause in seconds.
    """

    again: int = 3
    pause: float = 0.5
    growth: float = 3.0
    ceiling: float = 30.0

    def wait(self, error: Exception, attempt: int) -> float:
        """Return the seconds to wait after an attempt that failed.

        Args:
            error: What the fetch function raised.
            attempt: Number of the attempt, from 1.

        Raises:
            RunError: Q302 if the run should not wait any longer.
        """
        asked = error.wait if isinstance(error, SourceBusy) else None
        if attempt > self.again or (asked is not None and asked > self.ceiling):
            raise RunError("Q302", f"the source did not recover after {attempt} attempts") from error
        return asked if asked is not None else min(self.pause * self.growth ** (attempt - 1), self.ceiling)


@dataclass(frozen=True)
class Page:
    """One page of a `FetchHopper`.

    Args:
        records: Mappings from header to raw value.
        next: What the fetch function needs for the following page, or None after the last.
    """

    records: Iterable[Mapping[str, Any]]
    next: Any = None


class FetchHopper(Hopper):
    """Records from a function that fetches pages. Lines are counted through all pages, from 1.

    Args:
        fetch: Function or coroutine function. It is called with None for the first page, then with the `next` of the
            previous page, and returns a `Page`. A coroutine function needs `Plan.amill`; a plain function works in both.
        patience: How failed attempts are repeated.
        label: Name of the source in the ledger.
    """

    def __init__(
        self, fetch: Callable[[Any], Page | Awaitable[Page]], *, patience: Patience | None = None, label: str = "fetch"
    ) -> None:
        super().__init__(label)
        self.fetch = fetch
        self.patience = patience or Patience()

    def _attempts(self) -> Generator[tuple[str, Any], Any, None]:
        """Yield `("call", cursor)`, `("sleep", seconds)` and `("page", page)`; the caller sends what came of it."""
        cursor, attempt = None, 1
        while True:
            result = yield "call", cursor
            if isinstance(result, Exception):
                yield "sleep", self.patience.wait(result, attempt)
                attempt += 1
                continue
            yield "page", result
            if result.next is None:
                return
            cursor, attempt = result.next, 1

    def records(self) -> Iterator[Raw]:
        """Yield the records."""
        if inspect.iscoroutinefunction(self.fetch):
            raise RunError("Q303", "the fetch function is a coroutine function. Use Plan.amill")
        line: int = 0
        result: Any = None
        attempts = self._attempts()
        action, value = next(attempts)
        while action:
            if action == "call":
                try:
                    result = self.fetch(value)
                except _RETRIED as error:
                    result = error
            elif action == "sleep":
                time.sleep(value)
            else:
                for record in value.records:
                    line += 1
                    yield line, dict(record), None
            try:
                action, value = attempts.send(result)
            except StopIteration:
                return

    async def arecords(self) -> AsyncIterator[Raw]:
        """Yield the records from asynchronous code."""
        line: int = 0
        result: Any = None
        attempts = self._attempts()
        action, value = next(attempts)
        while action:
            if action == "call":
                try:
                    result = self.fetch(value)
                    result = await result if inspect.isawaitable(result) else result
                except _RETRIED as error:
                    result = error
            elif action == "sleep":
                await asyncio.sleep(value)
            else:
                for record in value.records:
                    line += 1
                    yield line, dict(record), None
            try:
                action, value = attempts.send(result)
            except StopIteration:
                return


def open_hopper(path: str | Path, **options: Any) -> FileHopper:
    """Return the hopper for a file by its suffix.

    Args:
        path: A file that ends in `.csv`, `.tsv`, `.jsonl` or `.ndjson`, each perhaps with `.gz` after it.
        **options: Options of the hopper.

    Raises:
        LotError: Q502 if the suffix is another.
    """
    match format_of(path):
        case "jsonl":
            return JsonLinesHopper(path, **options)
        case "tsv":
            return CsvHopper(path, **{"delimiter": "\t", **options})
    return CsvHopper(path, **options)


def format_of(path: str | Path) -> str:
    """Return `"csv"`, `"tsv"` or `"jsonl"` for a file name."""
    suffixes = [suffix for suffix in Path(path).suffixes if suffix != ".gz"]
    known = {".csv": "csv", ".tsv": "tsv", ".jsonl": "jsonl", ".ndjson": "jsonl"}
    if not suffixes or suffixes[-1] not in known:
        raise LotError("Q502", f"{path}: expected .csv, .tsv, .jsonl or .ndjson")
    return known[suffixes[-1]]


def _flatten(record: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for key, value in record.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{prefix}{key}.")
        else:
            yield prefix + key, value
