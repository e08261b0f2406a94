"""Crawls one site into a store like a worker: `python -m fleet_servers.one_site STORE URL KEY RUN SCRATCH LEASE`."""

from __future__ import annotations

import sys

from roaming_crawler.config import CrawlConfig, Politeness
from roaming_fleet.job import RunPlan, run_job
from roaming_fleet.records import SiteRecord
from roaming_fleet.schedule import config_digest
from roaming_fleet.sites_file import SiteSpec


def crawl_once(store: str, url: str, key: str, run: str, scratch: str, lease: float) -> SiteRecord:
    """Crawl a site in a run with a lease of `lease` seconds."""
    config = CrawlConfig(politeness=Politeness(delay=0), allow_private=True, workers=0)
    plan = RunPlan(store, config, run, config_digest(config), scratch, lease_seconds=lease, patience=60)
    return run_job(SiteSpec(url, key), plan)


if __name__ == "__main__":
    sys.stdout.write(crawl_once(*sys.argv[1:6], lease=float(sys.argv[6])).result)
