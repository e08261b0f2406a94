"""Engines: run the jobs of many sites in threads, in processes, or in the workers of a Dask cluster.

The sites of a group share a host. They are crawled one after the other, so no machine needs to know what the others do.
"""

from __future__ import annotations

import logging
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from contextlib import ExitStack
from itertools import chain, count
from typing import TYPE_CHECKING

from mkdocs_roaming.errors import RoamingError, UsageError
from roaming_fleet.buckets import Bucket
from roaming_fleet.job import RunPlan, make_failed_record, run_job
from roaming_fleet.objects import open_bucket
from roaming_fleet.records import SiteRecord, read_record, write_record
from roaming_fleet.run import Engine
from roaming_fleet.sites_file import SiteSpec

if TYPE_CHECKING:
    import distributed


def thread_engine(at_once: int) -> Engine:
    """Return the engine that crawls several hosts at once in threads of this process.

    Raises:
        UsageError: The process may not open enough files.
    """
    raise_file_limit(at_once)
    return _pool_engine(lambda: ThreadPoolExecutor(at_once, "site"), at_once)


def process_engine(at_once: int) -> Engine:
    """Return the engine that crawls several hosts at once, each in a process of its own."""
    context = multiprocessing.get_context("spawn")
    return _pool_engine(
        lambda: ProcessPoolExecutor(at_once, context, initializer=_prepare_process, initargs=(os.getpid(),)), at_once
    )


def _pool_engine(make_pool: Callable[[], Executor], at_once: int) -> Engine:
    def engine(
        plan: RunPlan, groups: Sequence[tuple[SiteSpec, ...]], stop: Callable[[], None]
    ) -> Generator[SiteRecord]:
        running: dict[Future[SiteRecord], Iterator[SiteSpec]] = {}
        waiting = map(iter, groups)

        def submit(groups: Iterator[Iterator[SiteSpec]]) -> None:
            for group in groups:
                if (site := next(group, None)) is not None:
                    running[pool.submit(run_job, site, plan)] = group
                    return

        with make_pool() as pool:
            try:
                for _ in range(at_once):
                    submit(waiting)
                while running:
                    for future in wait(running, return_when=FIRST_COMPLETED).done:
                        submit(chain([running.pop(future)], waiting))
                        yield future.result()
            except BrokenProcessPool:
                raise UsageError("--engine processes: a process was killed; repeat the command") from None
            finally:
                if running:
                    stop()
                pool.shutdown(cancel_futures=True)

    return engine


def _prepare_process(parent: int) -> None:
    """Prepare a process of a pool: it leaves Ctrl-C to its parent, and ends with it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    raise_file_limit(1)

    def watch() -> None:
        while os.getppid() == parent:
            time.sleep(_CHECK_INTERVAL)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def raise_file_limit(at_once: int) -> None:
    """Raise this process's limit of open files for a number of concurrent crawls.

    Raises:
        UsageError: The hard limit is too low.
    """
    count = _FILES_PER_SITE * (at_once + 6)
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= count:
        return
    if hard != resource.RLIM_INFINITY and hard < count:
        hosts = max(1, hard // _FILES_PER_SITE - 6)
        raise UsageError(
            f"--at-once: this process may open {hard} files (`ulimit -n`); give --at-once {hosts}, or raise the limit"
        )
    resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))


def dask_engine(address: str, at_once: int, patience: float = 60.0) -> Engine:
    """Return the engine that crawls in the workers of a scheduler, or in local workers.

    Each site is a task that depends on the previous site of its host. A task whose worker dies runs again in another
    one; a site that was finished is not crawled again, because its record says so.

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

    def engine(
        plan: RunPlan, groups: Sequence[tuple[SiteSpec, ...]], stop: Callable[[], None]
    ) -> Generator[SiteRecord]:
        if not groups:
            return
        with ExitStack() as stack:
            logger = logging.getLogger("distributed.client")  # it takes fifty lines to report a lost scheduler
            stack.callback(logger.setLevel, logger.level)
            logger.setLevel(logging.CRITICAL)
            client = _connect(stack, address, at_once)
            try:
                yield from _Tasks(client, plan, at_once, patience).run(groups)
            except (OSError, distributed.CancelledError):
                where = address or client.scheduler.address
                raise UsageError(
                    f"--engine dask: lost the scheduler at {where}; start it and repeat the command"
                ) from None
            finally:
                stop()

    return engine


def _connect(stack: ExitStack, address: str, at_once: int) -> distributed.Client:
    from distributed import Client, LocalCluster

    if address:
        try:
            return stack.enter_context(Client(address, timeout=_TIMEOUT))
        except (OSError, TimeoutError):
            raise UsageError(
                f"--engine dask={address}: no scheduler at this address; start one: dask scheduler"
            ) from None
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


def _ignore_interrupts() -> None:
    """Ignore Ctrl-C in workers: a terminal sends it to all processes, and the client stops the workers."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)


def crawl_after(site: SiteSpec, plan: RunPlan, previous: SiteRecord | None) -> SiteRecord:
    """Crawl a site in a worker; Dask passes the record of the previous site of the host when that is finished."""
    return run_job(site, plan)


class _Tasks:
    """The tasks of a run that the scheduler knows: chains of sites, a few per thread of the workers."""

    def __init__(self, client: distributed.Client, plan: RunPlan, at_once: int, patience: float) -> None:
        from distributed import as_completed

        self._client, self._plan, self._at_once, self._patience = client, plan, at_once, patience
        self._futures = as_completed()
        self._pending: dict[str, tuple[SiteSpec, ...]] = {}  # by task: its site, and the rest of the chain
        self._attempts = count()

    def run(self, groups: Sequence[tuple[SiteSpec, ...]]) -> Iterator[SiteRecord]:
        """Crawl groups of sites, and yield their records."""
        waiting = iter(groups)
        self._fill(waiting)
        for future in self._completed():
            sites = self._pending.pop(future.key)
            if (record := self._get_record(future, sites)) is not None:
                yield record
            self._fill(waiting)

    def _fill(self, waiting: Iterator[tuple[SiteSpec, ...]]) -> None:
        threads = max(self._at_once, self._count_threads())
        while len(self._pending) < _TASKS_PER_THREAD * threads and (group := next(waiting, None)):
            self._submit(group)

    def _submit(self, sites: tuple[SiteSpec, ...]) -> None:
        """Submit sites of one host as a chain of tasks."""
        previous, attempt = None, next(self._attempts)
        for at, site in enumerate(sites):
            key = f"{self._plan.run}-{site.key}-{attempt}"
            previous = self._client.submit(
                crawl_after, site, self._plan, previous, key=key, pure=False, retries=_RETRIES
            )
            self._pending[key] = sites[at:]
            self._futures.add(previous)

    def _get_record(self, future: distributed.Future, sites: tuple[SiteSpec, ...]) -> SiteRecord | None:
        """Return the result of a task; None if it is tried again, or comes after one whose workers died."""
        from distributed import CancelledError
        from distributed.comm import CommClosedError
        from distributed.scheduler import KilledWorker

        try:
            record: SiteRecord = future.result(timeout=_TIMEOUT)
        except KilledWorker as error:
            if error.task != future.key:
                return None
            if sites[1:]:
                self._submit(sites[1:])
            return _record_killed_worker(open_bucket(self._plan.store), sites[0], self._plan)
        except (RoamingError, CancelledError, CommClosedError):
            raise
        except Exception as error:
            if isinstance(error, TimeoutError) and future.status != "error":  # its result was lost with a worker
                self._pending[future.key] = sites
                self._futures.add(future)
                return None
            reason = " ".join(str(error).split())[:200]
            raise UsageError(
                f"--engine dask: a worker cannot run its task ({type(error).__name__}: {reason}); "
                "install the same mkdocs-roaming there"
            ) from None
        return record

    def _completed(self) -> Iterator[distributed.Future]:
        """Yield futures as they complete.

        Raises:
            UsageError: There has been no worker for too long.
        """
        last_worker = last_check = time.monotonic()
        while not self._futures.is_empty():
            if (now := time.monotonic()) > last_check + _CHECK_INTERVAL:
                last_check = now
                if self._count_threads():
                    last_worker = now
                elif now > last_worker + self._patience:
                    where = self._client.scheduler.address
                    raise UsageError(
                        f"--engine dask: no worker at {where} for {self._patience:g} s; "
                        f"start one, dask worker {where}, and repeat the command"
                    )
            if self._futures.has_ready():
                yield next(self._futures)
            else:
                time.sleep(_POLL_INTERVAL)

    def _count_threads(self) -> int:
        """Return the number of worker threads.

        Raises:
            ConnectionError: The scheduler is gone.
        """
        if self._client.status != "running":  # else the client retries for half a minute
            raise ConnectionError
        return sum(self._client.ncores().values())


def _record_killed_worker(bucket: Bucket, site: SiteSpec, plan: RunPlan) -> SiteRecord:
    """Return the record of a site whose workers died repeatedly."""
    last = read_record(bucket, site.key)
    if last is not None and last.run == plan.run:
        return last
    record = make_failed_record(site, plan, last, "the worker that crawled it died, several times")
    write_record(bucket, record)
    return record


_FILES_PER_SITE = 12
"""Maximum number of files and connections that the crawl of a site has open."""
_TASKS_PER_THREAD = 3
"""Number of tasks known to the scheduler per thread; it bounds the scheduler's memory."""
_RETRIES = 2
"""Number of times that Dask repeats a task that raised an error: the store failed, not the site."""
_TIMEOUT = 5
_POLL_INTERVAL = 0.05
_CHECK_INTERVAL = 1.0
