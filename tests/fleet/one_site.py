"""Crawls one site into a store, as a worker does: `python -m fleet.one_site STORE URL KEY RUN SCRATCH LEASE`."""

from __future__ import annotations

import sys

from roaming_crawler.crawl import CrawlConfig
from roaming_crawler.fetch import Politeness
from roaming_fleet.records import SiteRecord
from roaming_fleet.runner import RunPlan, run_job
from roaming_fleet.schedule import config_digest
from roaming_fleet.sites_file import SiteSpec


def crawl_once(store: str, url: str, key: str, run: str, scratch: str, lease: float) -> SiteRecord:
    """Crawl a site in a run; a claim that is not renewed for `lease` seconds is taken over."""
    how = CrawlConfig(manners=Politeness(delay=0), allow_private=True, workers=0)
    plan = RunPlan(store, how, run, config_digest(how), scratch, lease=lease, patience=60)
    return run_job(SiteSpec(url, key), plan)


if __name__ == "__main__":
    sys.stdout.write(crawl_once(*sys.argv[1:6], lease=float(sys.argv[6])).result)
