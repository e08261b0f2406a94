"""Plans and their runs."""

from __future__ import annotations

import inspect
import os
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from quern.columns import BLANKS, Column, header_key, tidy
from quern.errors import PlanError, Refusal, RenamedError, RunError, SpoiledLotError
from quern.hoppers import Hopper, RowsHopper, open_hopper
from quern.ledger import Entry, Ledger, Lot, Refused, as_text, merge_rows
from quern.merge import Merge
from quern.sieves import Park, Row, Sieve, Verdict, Window, sieve_from

EVENTS = ("intake", "refuse", "close")
Source = Hopper | str | Path | Iterable[Mapping[str, Any]]


class Plan:
    """The declaration of what clean rows are.

    Args:
        columns: The columns, in the order of the clean rows.
        derive: Functions of a row, by the name of the derived column. They run in order, after all columns are
            converted and before the window and the sieves. Derived columns come last in a row.
        sieves: The sieves, in the order in which a row meets them. The first that does not let it pass decides.
        window: The window of time.
        merge: What becomes of duplicates. None: duplicates stay.
        extras: What becomes of headers that no column claims: `"drop"` (one ledger entry for each header and lot),
            `"refuse"` (Q211) or `"keep"`: the raw value stays in the row under the normalised header.
        blanks: Values that mean nothing, compared without case after tidying. They replace the default list `BLANKS`.
        zone: Zone of moments without offset, an IANA name such as `"Europe/Oslo"`. None: they are refused with Q210.
        refuse_limit: Greatest share of taken records that may be refused, from 0 to 1.
        grace: Number of taken records below which the limit is not checked.
        detail: Detail of the ledger, `"brief"` or `"full"`.
        name: Name of the plan, for messages.

    Raises:
        PlanError: Q102 to Q109.
    """

    def __init__(
        self,
        columns: Sequence[Column],
        *,
        derive: Mapping[str, Callable[[Row], Any]] | None = None,
        sieves: Sequence[Sieve] = (),
        window: Window | None = None,
        merge: Merge | None = None,
        extras: str = "drop",
        blanks: Sequence[str] = BLANKS,
        zone: str | None = None,
        refuse_limit: float = 0.1,
        grace: int = 20,
        detail: str = "brief",
        name: str = "plan",
    ) -> None:
        if extras not in {"drop", "refuse", "keep"} or detail not in {"brief", "full"} or not 0 <= refuse_limit <= 1:
            raise PlanError("Q102", f"{name}: impossible value of extras, detail or refuse_limit")
        self.columns = {column.name: column for column in columns}
        self.derive = dict(derive or {})
        self.names = [*self.columns, *self.derive]
        self.sieves = list(sieves)
        self.window = window
        self.merge = merge
        self.extras = extras
        self.blanks = {tidy(blank).casefold() for blank in blanks}
        try:
            self.zone = ZoneInfo(zone) if zone else None
        except (KeyError, ValueError):
            raise PlanError("Q102", f"{name}: unknown zone {zone!r}") from None
        self.refuse_limit = refuse_limit
        self.grace = grace
        self.detail = detail
        self.name = name
        self.source: Hopper | None = None
        self.hooks: dict[str, list[Callable[[Any], Any]]] = {event: [] for event in EVENTS}
        self.claims: dict[str, str] = {}
        for column in columns:
            for claim in column.claims:
                if self.claims.setdefault(claim, column.name) != column.name:
                    raise PlanError(
                        "Q103", f"{name}: {claim!r} is claimed by {self.claims[claim]!r} and {column.name!r}"
                    )
        if len(set(self.names)) != len(columns) + len(self.derive):
            raise PlanError("Q103", f"{name}: a column is declared twice")
        self.fills = {column.name: self._fill(column) for column in columns if column.raw_fill is not None}
        self._check()

    def _fill(self, column: Column) -> Any:
        try:
            return column.convert(column.raw_fill, self.zone)
        except Refusal as error:
            raise PlanError("Q109", f"{self.name}: fill of {column.name!r}: {error.detail}") from None

    def _check(self) -> None:
        for sieve in self.sieves:
            self._known(sieve.columns, f"sieve {sieve.name}")
        if self.window is not None:
            self._known([self.window.column], "window")
            if self.columns[self.window.column].kind not in {"day", "moment"}:
                raise PlanError("Q102", f"{self.name}: the window needs a column of kind day or moment")
        if self.merge is not None:
            self._known([*self.merge.key, *self.merge.rules, *([self.merge.by] if self.merge.by else [])], "merge")
            self.merge.check(self.columns)

    def _known(self, names: Iterable[str], where: str) -> None:
        for name in names:
            if name not in self.names:
                raise PlanError("Q104", f"{self.name}: {where} names the column {name!r}, which is not declared")

    @classmethod
    def load(cls, path: str | Path) -> Plan:
        """Return the plan of a plan file.

        Args:
            path: The TOML file. Relative paths in it start at its folder.

        Raises:
            PlanError: Q101 to Q109.
        """
        return load_plan(Path(path))

    def sieve(self, *columns: str) -> Callable[[Callable[[Row], Verdict]], Callable[[Row], Verdict]]:
        """Return a decorator that adds a function as the last sieve.

        Args:
            *columns: Columns that must not be None for the function to be called.
        """
        self._known(columns, "sieve")

        def add(test: Callable[[Row], Verdict]) -> Callable[[Row], Verdict]:
            self.sieves.append(Sieve(test.__name__, test, columns))
            return test

        return add

    def hook(self, event: str) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
        """Return a decorator that adds a hook. Hooks of an event run in the order in which they were added.

        Args:
            event: `"intake"`, `"refuse"` or `"close"`.

        Raises:
            RunError: Q305 if there is no such event.
        """
        if event not in EVENTS:
            raise RunError("Q305", f"no event {event!r}. There are {', '.join(EVENTS)}")

        def add(hook: Callable[[Any], Any]) -> Callable[[Any], Any]:
            self.hooks[event].append(hook)
            return hook

        return add

    def masked(self, record: Mapping[str, Any]) -> dict[str, Any]:
        """Return a copy of a record with `***` for the values of secret columns."""
        secret = {claim for claim, name in self.claims.items() if self.columns[name].secret}
        return {key: "***" if header_key(key) in secret else value for key, value in record.items()}

    def mill(self, source: Source | None = None, *, window: Window | None = None, now: datetime | None = None) -> Lot:
        """Run the plan.

        Args:
            source: A hopper, the path of a file (see `open_hopper`), or records in memory. None: the source of the plan
                file.
            window: Window of this run instead of the plan's.
            now: Aware moment to which spans such as `"-6h"` relate, and the end of a window without `until`. None: the
                clock.

        Returns:
            The lot.

        Raises:
            RunError: Q302 to Q306.
            SpoiledLotError: Q401.
        """
        run = _Run(self, self._hopper(source), window, now)
        for line, record, refusal in run.hopper.records():
            for hook in self.hooks["intake"] if refusal is None else ():
                record, refusal = self._replaced(record, *_call(hook, dict(record)))
                if refusal:
                    break
            if refused := run.take(line, record, refusal):
                for hook in self.hooks["refuse"]:
                    _call(hook, refused, catch=False)
        lot = run.finish()
        for hook in self.hooks["close"]:
            _call(hook, lot, catch=False)
        return lot

    async def amill(
        self, source: Source | None = None, *, window: Window | None = None, now: datetime | None = None
    ) -> Lot:
        """Run the plan in asynchronous code. Fetch functions and hooks may be coroutine functions; sieves may not.

        Args:
            source: See `mill`.
            window: See `mill`.
            now: See `mill`.

        Returns:
            The lot.

        Raises:
            RunError: Q302 to Q306.
            SpoiledLotError: Q401.
        """
        run = _Run(self, self._hopper(source), window, now)
        async for line, record, refusal in run.hopper.arecords():
            for hook in self.hooks["intake"] if refusal is None else ():
                record, refusal = self._replaced(record, *await _acall(hook, dict(record)))
                if refusal:
                    break
            if refused := run.take(line, record, refusal):
                for hook in self.hooks["refuse"]:
                    await _acall(hook, refused, catch=False)
        lot = run.finish()
        for hook in self.hooks["close"]:
            await _acall(hook, lot, catch=False)
        return lot

    def stream(
        self, source: Source | None = None, *, ledger: Ledger | None = None, now: datetime | None = None
    ) -> Iterator[Row]:
        """Return an iterator of clean rows that holds no more than one of them.

        There is no lot: the limit of refusals is not checked, parked rows are only in the ledger, and of the hooks only
        `intake` runs.

        Args:
            source: See `mill`.
            ledger: Ledger that receives the entries. None: they are lost.
            now: See `mill`.

        Raises:
            RunError: Q301 if the plan has a merge, at once and not when the first row is read.
        """
        if self.merge is not None:
            raise RunError("Q301", f"{self.name}: a merge needs all rows. Use mill")
        run = _Run(self, self._hopper(source), None, now)
        run.lot.ledger = ledger if ledger is not None else run.lot.ledger
        return self._streamed(run)

    def _streamed(self, run: _Run) -> Iterator[Row]:
        for line, record, refusal in run.hopper.records():
            for hook in self.hooks["intake"] if refusal is None else ():
                record, refusal = self._replaced(record, *_call(hook, dict(record)))
                if refusal:
                    break
            run.take(line, record, refusal)
            yield from run.lot.rows
            for kept in (run.lot.rows, run.lot.refused, run.lot.parked, run.places):
                kept.clear()

    def _hopper(self, source: Source | None) -> Hopper:
        if source is None:
            if self.source is None:
                raise RunError("Q306", f"{self.name}: no source")
            return self.source
        if isinstance(source, Hopper):
            return source
        return open_hopper(source) if isinstance(source, str | Path) else RowsHopper(source)

    def _replaced(
        self, record: dict[str, Any], result: Any, refusal: Refusal | None
    ) -> tuple[dict[str, Any], Refusal | None]:
        if result is not None and not isinstance(result, Mapping):
            raise RunError(
                "Q305", f"{self.name}: an intake hook returned {type(result).__name__}, not a record or None"
            )
        return (record if result is None else dict(result)), refusal

    def __getattr__(self, name: str) -> Any:
        if name in _OLD:
            raise RenamedError("Q901", f"Plan.{name} is {_OLD[name]} in quern 2")
        raise AttributeError(name)


_OLD = {
    "run": "Plan.mill",
    "run_async": "Plan.amill",
    "iter_rows": "Plan.stream",
    "on": "Plan.hook",
    "filter": "Plan.sieve",
}


def _call(hook: Callable[[Any], Any], value: Any, *, catch: bool = True) -> tuple[Any, Refusal | None]:
    if inspect.iscoroutinefunction(hook):
        raise RunError("Q303", f"the hook {hook.__name__} is a coroutine function. Use Plan.amill")
    try:
        return hook(value), None
    except Refusal as error:
        if not catch:
            raise
        return None, error


async def _acall(hook: Callable[[Any], Any], value: Any, *, catch: bool = True) -> tuple[Any, Refusal | None]:
    try:
        result = hook(value)
        return (await result if inspect.isawaitable(result) else result), None
    except Refusal as error:
        if not catch:
            raise
        return None, error


class _Run:
    """State of one run."""

    def __init__(self, plan: Plan, hopper: Hopper, window: Window | None, now: datetime | None) -> None:
        self.plan = plan
        self.hopper = hopper
        self.window = window or plan.window
        self.lot = Lot(plan, Ledger(plan.detail))
        self.sieves = [(sieve, sieve.start()) for sieve in plan.sieves]
        self.carried: dict[str, Any] = {}
        self.dropped: set[str] = set()
        self.places: list[tuple[str, int]] = []
        self.bounds: tuple[Any, Any] = (None, None)
        if self.window is not None:
            plan._known([self.window.column], "window")
            kind = plan.columns[self.window.column].kind
            self.bounds = self.window.bounds(kind, now or datetime.now(UTC), plan.zone)
            self.lot.since = self.bounds[0]

    def take(self, line: int, record: dict[str, Any], refusal: Refusal | None) -> Refused | None:
        """Take one record. Return what is refused of it."""
        self.lot.taken += 1
        if refusal is None:
            try:
                row = self._convert(line, record)
                for name, function in self.plan.derive.items():
                    row[name] = function(row)
                park = self._outside(row) or self._sift(row)
            except Refusal as error:
                refusal = error
        if refusal is not None:
            return self._refuse(line, record, refusal)
        if park is not None:
            self.lot.parked.append(row)
            self._note(line, "parked", code=park[0], note=park[1])
        else:
            self._pass(line, row)
        return None

    def _pass(self, line: int, row: Row) -> None:
        self.lot.rows.append(row)
        self.places.append((self.hopper.label, line))
        for name, column in self.plan.columns.items():
            if column.kind in {"day", "moment"} and row[name] is not None:
                self.lot.marks[name] = max(row[name], self.lot.marks.get(name, row[name]))

    def _refuse(self, line: int, record: dict[str, Any], refusal: Refusal) -> Refused:
        column = self.plan.columns.get(refusal.column or "")
        reason = "secret value" if column is not None and column.secret else refusal.detail
        refused = Refused(line, self.plan.masked(record), refusal.code, reason, refusal.column)
        self.lot.refused.append(refused)
        self._note(line, "refused", refusal.column, code=refusal.code, note=reason)
        return refused

    def _note(self, line: int, act: str, column: str | None = None, **more: Any) -> None:
        if column in self.plan.columns and self.plan.columns[column].secret:
            more |= {key: "***" for key in ("before", "after") if more.get(key) is not None}
        self.lot.ledger.add(Entry(self.hopper.label, line, act, column, **more))

    def _claimed(self, line: int, record: dict[str, Any]) -> tuple[dict[str, Any], Row]:
        values: dict[str, Any] = {}
        extras: Row = {}
        for header, raw in record.items():
            key = header_key(str(header))
            name = self.plan.claims.get(key)
            if name is not None:
                raw = None if self._blank(raw) else raw
                if raw is not None and values.get(name) is not None and tidy(raw) != tidy(values[name]):
                    raise Refusal("Q212", f"two headers belong to {name!r} and differ", name)
                values[name] = raw if raw is not None else values.get(name)
            elif self.plan.extras == "refuse":
                raise Refusal("Q211", f"no column claims the header {header!r}")
            elif self.plan.extras == "keep":
                extras[key] = raw
            elif key not in self.dropped:
                self.dropped.add(key)
                self._note(line, "dropped", key)
        return values, extras

    def _blank(self, raw: Any) -> bool:
        return raw is None or (isinstance(raw, str) and tidy(raw).casefold() in self.plan.blanks)

    def _convert(self, line: int, record: dict[str, Any]) -> Row:
        values, extras = self._claimed(line, record)
        row: Row = {}
        refusal: Refusal | None = None
        for name, column in self.plan.columns.items():
            raw = values.get(name)
            try:
                row[name] = self._instead(line, column) if raw is None else column.convert(raw, self.plan.zone)
            except Refusal as error:
                refusal = refusal or error
                continue
            if raw is not None:
                self.carried[name] = row[name]
                self._compare(line, name, raw, row[name])
        if refusal is not None:
            raise refusal
        return row | extras

    def _instead(self, line: int, column: Column) -> Any:
        """Return the value that stands for a blank."""
        name = column.name
        if column.optional:
            return None
        source: dict[str, Any] = self.carried if column.carry else self.plan.fills
        if name not in source:
            raise Refusal("Q201", f"{name} is blank", name)
        self._note(line, "filled", name, after=as_text(source[name]))
        return source[name]

    def _compare(self, line: int, name: str, raw: Any, value: Any) -> None:
        before, after = str(raw), as_text(value)
        if before != after:
            act = "tidied" if tidy(raw) == after else "converted"
            self._note(line, act, name, before=before, after=after)

    def _outside(self, row: Row) -> tuple[str, str] | None:
        if self.window is None:
            return None
        value, (since, until) = row[self.window.column], self.bounds
        inside = value is not None and (since is None or value > since) and value <= until
        return (
            None if inside else ("Q221", f"{self.window.column} is {as_text(value) or 'blank'}, outside of the window")
        )

    def _sift(self, row: Row) -> tuple[str, str] | None:
        for sieve, test in self.sieves:
            if any(row[name] is None for name in sieve.columns):
                continue
            verdict = test(row)
            if isinstance(verdict, Park):
                return "Q222", f"{sieve.name}: {verdict.reason}"
            if isinstance(verdict, str):
                raise Refusal("Q220", f"{sieve.name}: {verdict}")
            if verdict is not None:
                raise RunError("Q304", f"the sieve {sieve.name} returned {verdict!r}, not None, a reason or Park")
        return None

    def finish(self) -> Lot:
        """Merge duplicates, check the limit and return the lot."""
        lot = self.lot
        merge_rows(lot, self.places)
        if lot.taken >= max(self.plan.grace, 1) and len(lot.refused) / lot.taken > self.plan.refuse_limit:
            detail = f"{self.plan.name}: {len(lot.refused)} of {lot.taken} records were refused"
            raise SpoiledLotError("Q401", detail, lot)
        return lot


_TABLES = {
    "quern",
    "name",
    "zone",
    "extras",
    "blanks",
    "detail",
    "columns",
    "sieves",
    "window",
    "merge",
    "limits",
    "source",
}


def load_plan(path: Path) -> Plan:
    """Return the plan of a plan file. See `Plan.load`."""
    try:
        data = tomllib.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise PlanError("Q105", f"no plan file {path}") from None
    except tomllib.TOMLDecodeError as error:
        raise PlanError("Q105", f"{path}: {error}") from None
    if data.get("quern") != 2:
        raise PlanError("Q105", f"{path}: expected quern = 2, got {data.get('quern')!r}")
    if wrong := data.keys() - _TABLES:
        raise PlanError("Q102", f"{path}: unknown key {', '.join(sorted(wrong))}")
    limits = data.get("limits", {})
    if wrong := limits.keys() - {"refused", "grace"}:
        raise PlanError("Q102", f"{path}: unknown key limits.{', '.join(sorted(wrong))}")
    options = {key: data[key] for key in ("zone", "extras", "blanks", "detail") if key in data}
    try:
        plan = Plan(
            [Column(name, **table) for name, table in data.get("columns", {}).items()],
            sieves=[sieve_from(table) for table in data.get("sieves", [])],
            window=Window(**data["window"]) if "window" in data else None,
            merge=Merge(**data["merge"]) if "merge" in data else None,
            refuse_limit=limits.get("refused", 0.1),
            grace=limits.get("grace", 20),
            name=data.get("name", path.stem),
            **options,
        )
        plan.source = _source(data["source"], path) if "source" in data else None
    except TypeError as error:
        raise PlanError("Q102", f"{path}: {error}") from None
    return plan


def _source(table: dict[str, Any], path: Path) -> Hopper:
    def expand(match: re.Match[str]) -> str:
        if match[1] not in os.environ:
            raise PlanError("Q108", f"{path}: the environment variable {match[1]} is not set")
        return os.environ[match[1]]

    values = {
        key: re.sub(r"\$\{(\w+)\}", expand, value) if isinstance(value, str) else value for key, value in table.items()
    }
    file = values.pop("path", None)
    if file is None:
        raise PlanError("Q102", f"{path}: source needs a path")
    return open_hopper(path.parent / file, **values)
