"""Engines: run the jobs of many sites in threads, or in the workers of a Dask cluster.

The sites of a group share a host. They are crawled one after the other, so no machine needs to know what the others do.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import (
    FIRST_COMPLETED,
    CancelledError,
    Executor,
    Future,
    ThreadPoolExecutor,
    wait,
)
from contextlib import suppress
from typing import TYPE_CHECKING

from mkdocs_roaming.errors import RoamingError, UsageError
from roaming_crawler.config import CrawlConfig
from roaming_fleet.job import RunPlan, SiteSpec, make_failed_record, read_last_record, run_job
from roaming_fleet.objects import open_bucket
from roaming_fleet.records import SiteRecord, write_record
from roaming_fleet.run import Engine

if TYPE_CHECKING:
    import distributed

Groups = Sequence[tuple[SiteSpec, ...]]

_DASK_SCHEMES = ("tcp", "tls", "ws", "wss", "ucx")
_MAX_REASON_CHARS = 200


def make_engine(name: str | None, at_once: int, config: CrawlConfig) -> Engine:
    """Return the engine for the options `--engine` and `--at-once`.

    Raises:
        UsageError: The engine is unknown, or cannot be used with the configuration.
    """
    if name in (None, "threads"):
        return thread_engine(at_once)
    kind, _, address = name.partition("=")
    if kind != "dask" or address.partition("://")[0] not in _DASK_SCHEMES or "://" not in address:
        raise UsageError(f"--engine {name}: give threads, or dask=tcp://HOST:PORT of a scheduler")
    if config.embeddings is not None:
        raise UsageError("--search hybrid: its key would be sent to all workers; leave out --engine, or --search")
    return dask_engine(address)


def thread_engine(at_once: int) -> Engine:
    """Return the engine that crawls several hosts at once in threads of this process; raise its limit of files."""
    with suppress(ImportError, OSError, ValueError):  # Windows has no such limit
        import resource

        soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
        if 0 <= soft < _MAX_FILES:  # as far as it may: the usual one is too low for a hundred sites
            resource.setrlimit(resource.RLIMIT_NOFILE, (_MAX_FILES if hard < 0 else min(hard, _MAX_FILES), hard))

    def engine(plan: RunPlan, groups: Groups, stop: Callable[[], None]) -> Generator[SiteRecord]:
        with ThreadPoolExecutor(at_once, "site") as pool:
            try:
                for _, future in _crawl_groups(pool, plan, groups, lambda: at_once):
                    yield future.result()
            finally:
                stop()
                pool.shutdown(cancel_futures=True)

    return engine


def _crawl_groups(
    pool: Executor, plan: RunPlan, groups: Groups, capacity: Callable[[], int]
) -> Iterator[tuple[SiteSpec, Future[SiteRecord]]]:
    """Crawl groups of sites in a pool, and yield each site with its completed future.

    Args:
        pool: Runs the jobs.
        plan: Parameters of the run.
        groups: Sites that are crawled one after the other.
        capacity: Returns the maximum number of submitted jobs; called about once per second.
    """
    waiting = deque(groups)
    running: dict[Future[SiteRecord], tuple[SiteSpec, ...]] = {}
    while waiting or running:
        limit = capacity()
        while waiting and len(running) < limit:
            group = waiting.popleft()
            running[pool.submit(run_job, group[0], plan)] = group
        for future in wait(running, _CHECK_INTERVAL, FIRST_COMPLETED).done:
            site, *rest = running.pop(future)
            if rest:
                waiting.appendleft(tuple(rest))
            yield site, future


def dask_engine(address: str, patience: float = 60.0) -> Engine:
    """Return the engine that crawls in the workers of a Dask scheduler.

    A task whose worker dies runs again in another one; a site that was finished is not crawled again, because its
    record says so. The engine raises UsageError if the scheduler stops, or if there is no worker for a while.

    Args:
        address: Address of the scheduler.
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

    def engine(plan: RunPlan, groups: Groups, stop: Callable[[], None]) -> Generator[SiteRecord]:
        # Its client and its event loop take fifty lines each to report a lost scheduler.
        for name in ("distributed.client", "tornado.application"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        try:
            client = distributed.Client(address, timeout=_CONNECT_SECONDS)
        except (OSError, TimeoutError):
            raise UsageError(
                f"--engine dask={address}: no scheduler at this address; start one: dask scheduler"
            ) from None
        with client:
            pool = client.get_executor(pure=False, retries=_RETRIES)
            try:
                for site, future in _crawl_groups(pool, plan, groups, _Workers(client, patience).capacity):
                    yield _get_record(future, site, plan)
            except (OSError, CancelledError):
                raise UsageError(
                    f"--engine dask: lost the scheduler at {address}; start it and repeat the command"
                ) from None
            finally:
                stop()

    return engine


class _Workers:
    """The workers of a scheduler."""

    def __init__(self, client: distributed.Client, patience: float) -> None:
        self._client = client
        self._patience = patience
        self._last_seen = time.monotonic()

    def capacity(self) -> int:
        """Return the number of jobs that the scheduler should know: a few per thread of the workers.

        Raises:
            ConnectionError: The scheduler is gone.
            UsageError: There has been no worker for too long.
        """
        if self._client.status != "running":  # else the client retries for half a minute
            raise ConnectionError
        threads: int = sum(self._client.ncores().values())
        now = time.monotonic()
        if threads:
            self._last_seen = now
        elif now > self._last_seen + self._patience:
            where = self._client.scheduler.address
            raise UsageError(
                f"--engine dask: no worker at {where} for {self._patience:g} s; "
                f"start one, dask worker {where}, and repeat the command"
            )
        return _TASKS_PER_THREAD * max(1, threads)


def _get_record(future: Future[SiteRecord], site: SiteSpec, plan: RunPlan) -> SiteRecord:
    """Return the result of a task, or the record of a site whose workers died."""
    from distributed.comm import CommClosedError
    from distributed.scheduler import KilledWorker

    try:
        return future.result()
    except KilledWorker:
        bucket = open_bucket(plan.store)
        record = read_last_record(bucket, site)
        if record.run != plan.run:
            record = make_failed_record(site, plan, record, "the worker that crawled it died, several times")
            write_record(bucket, record)
        return record
    except (RoamingError, CancelledError, CommClosedError):
        raise
    except Exception as error:
        reason = " ".join(str(error).split())[:_MAX_REASON_CHARS]
        raise UsageError(
            f"--engine dask: a worker cannot run its task ({type(error).__name__}: {reason}); "
            "install the same mkdocs-roaming there"
        ) from None


_MAX_FILES = 65_536
_TASKS_PER_THREAD = 3
"""Number of tasks known to the scheduler per thread; it bounds the scheduler's memory."""
_RETRIES = 2
"""Number of times that Dask repeats a task that raised an error: the store failed, not the site."""
_CONNECT_SECONDS = 5
_CHECK_INTERVAL = 1.0
