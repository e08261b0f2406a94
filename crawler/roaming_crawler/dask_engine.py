"""Many sites, crawled by workers of Dask: a task for the sites of a host, and only a small record back.

A task whose worker dies is given to another one, which goes on where the store, or the folder, says.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from itertools import islice
from typing import TYPE_CHECKING, Any

from mkdocs_roaming.buckets import Bucket, open_bucket
from mkdocs_roaming.catalogue import Record, read_record, write_record
from mkdocs_roaming.errors import RoamingError, UsageError
from roaming_crawler.fleet import Engine, Plan, crawl_group
from roaming_crawler.listing import Listed
from roaming_crawler.single import failed_record

if TYPE_CHECKING:
    from distributed import Client, Future

_AHEAD = 3
"""Tasks that are known to the scheduler, for each that can be worked on at once: its memory stays the same."""


def in_dask(address: str, at_once: int) -> Engine:
    """Give the engine that crawls in workers: those of the scheduler at an address, else some started for it."""
    try:
        import distributed
    except ImportError:
        raise UsageError(
            "--engine dask: needs the packages dask and distributed; pip install 'mkdocs-roaming[fleet]'"
        ) from None
    del distributed

    def engine(plan: Plan, groups: Sequence[tuple[Listed, ...]], stop: threading.Event) -> Iterator[Record]:
        if not groups:
            return
        with ExitStack() as stack:
            client = _client(stack, address, at_once)
            yield from _results(client, plan, groups, at_once)

    return engine


def _client(stack: ExitStack, address: str, at_once: int) -> Client:
    import os

    from distributed import Client, LocalCluster

    if not address:
        workers = min(at_once, os.cpu_count() or 1)
        cluster = LocalCluster(
            n_workers=workers,
            threads_per_worker=-(-at_once // workers),
            processes=True,
            dashboard_address=None,
            silence_logs="ERROR",
        )
        stack.enter_context(cluster)
        return stack.enter_context(Client(cluster))
    try:
        return stack.enter_context(Client(address, timeout=_SECONDS))
    except (OSError, TimeoutError):
        raise UsageError(f"--engine dask={address}: no scheduler answers there; start one: dask scheduler") from None


def _results(client: Client, plan: Plan, groups: Sequence[tuple[Listed, ...]], at_once: int) -> Iterator[Record]:
    from distributed import as_completed

    todo = iter(groups)
    running: dict[str, tuple[Listed, ...]] = {}
    found = as_completed()

    def submit() -> None:
        places = max(at_once, sum(client.ncores().values()))
        for group in islice(todo, max(0, _AHEAD * places - len(running))):
            future = client.submit(crawl_group, group, plan, key=f"{plan.run}-{group[0].key}", pure=False)
            running[future.key] = group
            found.add(future)

    submit()
    for future in found:
        group = running.pop(future.key)
        yield from _records(future, group, plan)
        future.release()
        submit()


def _records(future: Future, group: tuple[Listed, ...], plan: Plan) -> Sequence[Record]:
    from distributed.scheduler import KilledWorker

    try:
        records: list[Record] = future.result()
    except KilledWorker:
        bucket = open_bucket(plan.store)
        return [_written(bucket, site, plan) for site in group]
    except RoamingError:
        raise
    except Exception as error:
        raise UsageError(
            f"--engine dask: a worker cannot do its task ({type(error).__name__}: {_line(error)}); "
            "is the same mkdocs-roaming installed there?"
        ) from None
    return records


def _written(bucket: Bucket, site: Listed, plan: Plan) -> Record:
    """Give the record of a site some of whose workers died, each time at the same group of sites."""
    last = read_record(bucket, site.key)
    if last is not None and last.run == plan.run:
        return last
    record = failed_record(site, plan, last, "the worker that crawled it died, several times")
    write_record(bucket, record)
    return record


def _line(error: Any) -> str:
    return " ".join(str(error).split())[:200]


_SECONDS = 5
