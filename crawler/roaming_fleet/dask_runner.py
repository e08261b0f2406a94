"""Many sites, crawled by workers of Dask: a task for each site, of a host one at a time, and only a small record back.

A task whose worker dies is given to another one, which goes on where the store, or the folder, says.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from mkdocs_roaming.errors import RoamingError, UsageError
from roaming_fleet.buckets import open_bucket
from roaming_fleet.buckets.base import Bucket
from roaming_fleet.job import make_failed_record
from roaming_fleet.records import SiteRecord, read_record, write_record
from roaming_fleet.runner import Engine, HostQueue, RunPlan, raise_file_limit, run_job
from roaming_fleet.sites_file import SiteSpec

if TYPE_CHECKING:
    from distributed import Client, Future, Worker, as_completed

_AHEAD = 3
"""Tasks that are known to the scheduler, for each that can be worked on at once: its memory stays the same."""


def dask_engine(address: str, at_once: int, patience: float = 60.0) -> Engine:
    """Give the engine that crawls in workers: those of the scheduler at an address, else some started for it.

    It raises UsageError where the scheduler goes away, or no worker has been there for `patience` seconds.
    """
    try:
        import distributed
    except ImportError:
        raise UsageError(
            "--engine dask: needs the packages dask and distributed; pip install 'mkdocs-roaming[fleet]'"
        ) from None

    def engine(plan: RunPlan, groups: Sequence[tuple[SiteSpec, ...]]) -> Generator[SiteRecord]:
        if not groups:
            return
        with ExitStack() as stack:
            _quiet(stack)
            client = _client(stack, address, at_once)
            try:
                yield from _results(client, plan, groups, at_once, patience)
            except (OSError, distributed.CancelledError):
                where = address or client.scheduler.address
                raise UsageError(
                    f"--engine dask: the scheduler at {where} is gone; start it and give the same command"
                ) from None

    return engine


def crawl_as_task(site: SiteSpec, plan: RunPlan) -> SiteRecord:
    """Crawl a site in a worker, until nobody waits for it any more."""
    from distributed import get_worker

    worker = get_worker()
    return run_job(site, plan, _Wanted(worker, worker.get_current_task()))


class _Wanted:
    """Tells whether a task is wanted no more: whoever gave it is gone, or took it back."""

    def __init__(self, worker: Worker, task: str) -> None:
        self._worker, self._task = worker, task

    def is_set(self) -> bool:
        task = self._worker.state.tasks.get(self._task)
        return task is None or task.state == "cancelled"


def _quiet(stack: ExitStack) -> None:
    """Leave it to us to tell of a scheduler that is gone: Dask's client does so in fifty lines."""
    logger = logging.getLogger("distributed.client")
    stack.callback(logger.setLevel, logger.level)
    logger.setLevel(logging.CRITICAL)


def _client(stack: ExitStack, address: str, at_once: int) -> Client:
    import os

    from distributed import Client, LocalCluster

    if not address:
        workers = min(at_once, os.cpu_count() or 1)
        threads = -(-at_once // workers)
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=threads,
            processes=True,
            dashboard_address=None,
            silence_logs="ERROR",
        )
        stack.enter_context(cluster)
        client = stack.enter_context(Client(cluster))
        client.run(_leave_interrupts)
        client.run(raise_file_limit, threads)
        return client
    try:
        return stack.enter_context(Client(address, timeout=_SECONDS))
    except (OSError, TimeoutError):
        raise UsageError(f"--engine dask={address}: no scheduler answers there; start one: dask scheduler") from None


def _leave_interrupts() -> None:
    """Have Ctrl-C, which a terminal sends to every process, heard by the one that ends the others."""
    import signal

    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _results(
    client: Client, plan: RunPlan, groups: Sequence[tuple[SiteSpec, ...]], at_once: int, patience: float
) -> Iterator[SiteRecord]:
    from distributed import as_completed

    turns = HostQueue(groups)
    running: dict[str, tuple[SiteSpec, Iterator[SiteSpec]]] = {}
    found = as_completed()

    def submit(host: Iterator[SiteSpec] | None = None) -> bool:
        if (turn := turns.next(host)) is None:
            return False
        future = client.submit(crawl_as_task, turn[0], plan, key=f"{plan.run}-{turn[0].key}", pure=False)
        running[future.key] = turn
        found.add(future)
        return True

    def fill() -> None:
        places = max(at_once, _places(client))
        while len(running) < _AHEAD * places and submit():
            pass

    fill()
    for future in _ended(found, client, patience):
        site, host = running[future.key]
        if (record := _record(future, site, plan)) is None:
            found.add(future)
            continue
        del running[future.key]
        yield record
        future.release()
        submit(host)
        fill()


def _ended(found: as_completed, client: Client, patience: float) -> Iterator[Future]:
    """Give tasks as they end. Raises UsageError where nobody has been there to work on them for too long."""
    seen = asked = time.monotonic()
    while not found.is_empty():
        if (now := time.monotonic()) > asked + _ASKED:
            asked = now
            if _places(client):
                seen = now
            elif now > seen + patience:
                where = client.scheduler.address
                raise UsageError(
                    f"--engine dask: no worker has been at {where} for {patience:g} s; "
                    f"start one, dask worker {where}, and give the same command"
                )
        if found.has_ready():
            yield next(found)
        else:
            time.sleep(_LOOKED)


def _places(client: Client) -> int:
    """Give how many sites can be worked on at once. Raises OSError where the scheduler is gone."""
    if client.status != "running":  # else it would be tried for half a minute
        raise ConnectionError
    return sum(client.ncores().values())


def _record(future: Future, site: SiteSpec, plan: RunPlan) -> SiteRecord | None:
    """Give what a task came to; None where the worker that had it died just now, so that it is done again."""
    from distributed import CancelledError
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        record: SiteRecord = future.result(timeout=_SECONDS)
    except KilledWorker:
        return _written(open_bucket(plan.store), site, plan)
    except (RoamingError, CancelledError, CommClosedError):
        raise
    except Exception as error:
        if isinstance(error, TimeoutError) and future.status != "error":
            return None
        raise UsageError(
            f"--engine dask: a worker cannot do its task ({type(error).__name__}: {_line(error)}); "
            "is the same mkdocs-roaming installed there?"
        ) from None
    return record


def _written(bucket: Bucket, site: SiteSpec, plan: RunPlan) -> SiteRecord:
    """Give the record of a site whose workers died, each time at it."""
    last = read_record(bucket, site.key)
    if last is not None and last.run == plan.run:
        return last
    record = make_failed_record(site, plan, last, "the worker that crawled it died, several times")
    write_record(bucket, record)
    return record


def _line(error: Any) -> str:
    return " ".join(str(error).split())[:200]


_SECONDS = 5
_LOOKED = 0.05
_ASKED = 1.0
