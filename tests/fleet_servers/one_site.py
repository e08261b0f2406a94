"""Crawls one site into a store like a run: `python -m fleet_servers.one_site STORE URL KEY RUN SCRATCH SECONDS`."""

from __future__ import annotations

import secrets
import sys
import time

from roaming_crawler.config import CrawlConfig, Politeness
from roaming_fleet.job import RunPlan, SiteSpec, run_job
from roaming_fleet.lock import LockLostError, StoreLockedError, hold_lock
from roaming_fleet.objects import open_bucket
from roaming_fleet.records import SiteRecord
from roaming_fleet.run import config_digest


def crawl_once(store: str, url: str, key: str, run: str, scratch: str, seconds: float) -> SiteRecord:
    """Crawl a site in a run, whose id begins with `run`, that holds the lock of the store for `seconds` at a time, and waits for it."""
    run = f"{run}-{secrets.token_hex(3)}"
    config = CrawlConfig(politeness=Politeness(delay=0), allow_private=True, workers=0)
    plan = RunPlan(store, config, run, config_digest(config), scratch)
    while True:
        try:
            with hold_lock(open_bucket(store), run, seconds=seconds):
                return run_job(SiteSpec(url, key), plan)
        except StoreLockedError:
            time.sleep(0.05)


if __name__ == "__main__":
    try:
        sys.stdout.write(crawl_once(*sys.argv[1:6], seconds=float(sys.argv[6])).result)
    except LockLostError:
        sys.stdout.write("lost")
