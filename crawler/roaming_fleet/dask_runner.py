"""Engine that crawls in Dask workers: one task per site, one site per host at a time, small records as results.

A task whose worker dies is given to another one, which resumes the crawl from the store or the folder.
"""

from __future__ import annotations

import logging
import os
import signal
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING

from mkdocs_roaming.errors import RoamingError, UsageError
from roaming_fleet.buckets import Bucket, open_bucket
from roaming_fleet.job import RunPlan, make_failed_record, run_job
from roaming_fleet.records import SiteRecord, read_record, write_record
from roaming_fleet.runner import Engine, HostQueue, raise_file_limit
from roaming_fleet.sites_file import SiteSpec

if TYPE_CHECKING:
    from distributed import Client, Future, Worker, as_completed


def dask_engine(address: str, at_once: int, patience: float = 60.0) -> Engine:
    """Return the engine that crawls in the workers of a scheduler, or in local workers.

    The engine raises UsageError if the scheduler stops, or if there is no worker for a while.

    Args:
        address: Address of a scheduler; if empty, local workers are started.
        at_once: Number of concurrent crawls in local workers.
        patience: Seconds to wait for a worker.

    Raises:
        UsageError: Dask is not installed.
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
            _silence_logging(stack)
            client = _connect(stack, address, at_once)
            try:
                yield from _run(client, plan, groups, at_once, patience)
            except (OSError, distributed.CancelledError):
                where = address or client.scheduler.address
                raise UsageError(
                    f"--engine dask: lost the scheduler at {where}; start it and repeat the command"
                ) from None

    return engine


def crawl_as_task(site: SiteSpec, plan: RunPlan) -> SiteRecord:
    """Crawl a site in a worker until its task is cancelled."""
    from distributed import get_worker

    worker = get_worker()
    return run_job(site, plan, _TaskCancelled(worker, worker.get_current_task()))


class _TaskCancelled:
    """Stop signal: set once the client has cancelled the task or disappeared."""

    def __init__(self, worker: Worker, task: str) -> None:
        self._worker, self._task = worker, task

    def is_set(self) -> bool:
        task = self._worker.state.tasks.get(self._task)
        return task is None or task.state == "cancelled"


def _silence_logging(stack: ExitStack) -> None:
    """Disable the log of Dask's client, which takes fifty lines to report a lost scheduler."""
    logger = logging.getLogger("distributed.client")
    stack.callback(logger.setLevel, logger.level)
    logger.setLevel(logging.CRITICAL)


def _connect(stack: ExitStack, address: str, at_once: int) -> Client:
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
        client.run(_ignore_interrupts)
        client.run(raise_file_limit, threads)
        return client
    try:
        return stack.enter_context(Client(address, timeout=_TIMEOUT))
    except (OSError, TimeoutError):
        raise UsageError(f"--engine dask={address}: no scheduler at this address; start one: dask scheduler") from None


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C in workers: a terminal sends it to all processes, and the client stops the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def _run(
    client: Client, plan: RunPlan, groups: Sequence[tuple[SiteSpec, ...]], at_once: int, patience: float
) -> Iterator[SiteRecord]:
    from distributed import as_completed

    queue = HostQueue(groups)
    running: dict[str, tuple[SiteSpec, Iterator[SiteSpec]]] = {}
    futures = as_completed()

    def submit(group: Iterator[SiteSpec] | None = None) -> bool:
        if (turn := queue.next(group)) is None:
            return False
        future = client.submit(crawl_as_task, turn[0], plan, key=f"{plan.run}-{turn[0].key}", pure=False)
        running[future.key] = turn
        futures.add(future)
        return True

    def fill() -> None:
        threads = max(at_once, _count_threads(client))
        while len(running) < _TASKS_PER_THREAD * threads and submit():
            pass

    fill()
    for future in _wait_for_results(futures, client, patience):
        site, group = running[future.key]
        if (record := _get_record(future, site, plan)) is None:
            futures.add(future)
            continue
        del running[future.key]
        yield record
        future.release()
        submit(group)
        fill()


def _wait_for_results(futures: as_completed, client: Client, patience: float) -> Iterator[Future]:
    """Yield futures as they complete.

    Raises:
        UsageError: There has been no worker for too long.
    """
    last_worker = last_check = time.monotonic()
    while not futures.is_empty():
        if (now := time.monotonic()) > last_check + _CHECK_INTERVAL:
            last_check = now
            if _count_threads(client):
                last_worker = now
            elif now > last_worker + patience:
                where = client.scheduler.address
                raise UsageError(
                    f"--engine dask: no worker at {where} for {patience:g} s; "
                    f"start one, dask worker {where}, and repeat the command"
                )
        if futures.has_ready():
            yield next(futures)
        else:
            time.sleep(_POLL_INTERVAL)


def _count_threads(client: Client) -> int:
    """Return the number of worker threads.

    Raises:
        ConnectionError: The scheduler is gone.
    """
    if client.status != "running":  # else the client retries for half a minute
        raise ConnectionError
    return sum(client.ncores().values())


def _get_record(future: Future, site: SiteSpec, plan: RunPlan) -> SiteRecord | None:
    """Return the result of a task, or None if its worker died and the task runs again."""
    from distributed import CancelledError
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        record: SiteRecord = future.result(timeout=_TIMEOUT)
    except KilledWorker:
        return _record_killed_worker(open_bucket(plan.store), site, plan)
    except (RoamingError, CancelledError, CommClosedError):
        raise
    except Exception as error:
        if isinstance(error, TimeoutError) and future.status != "error":
            return None
        reason = " ".join(str(error).split())[:200]
        raise UsageError(
            f"--engine dask: a worker cannot run its task ({type(error).__name__}: {reason}); "
            "install the same mkdocs-roaming there"
        ) from None
    return record


def _record_killed_worker(bucket: Bucket, site: SiteSpec, plan: RunPlan) -> SiteRecord:
    """Return the record of a site whose workers died repeatedly."""
    last = read_record(bucket, site.key)
    if last is not None and last.run == plan.run:
        return last
    record = make_failed_record(site, plan, last, "the worker that crawled it died, several times")
    write_record(bucket, record)
    return record


_TASKS_PER_THREAD = 3
"""Number of tasks known to the scheduler per thread; it bounds the scheduler's memory."""
_TIMEOUT = 5
_POLL_INTERVAL = 0.05
_CHECK_INTERVAL = 1.0
