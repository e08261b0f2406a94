"""Crawls one site into a store, as a worker does: `python -m fleet.one_site STORE URL KEY RUN SCRATCH LEASE`."""

from __future__ import annotations

import sys

from roaming_crawler.crawl import Crawl
from roaming_crawler.due import config_of
from roaming_crawler.fetch import Manners
from roaming_crawler.fleet import Plan, crawl_listed
from roaming_crawler.listing import Listed

from mkdocs_roaming.catalogue import Record


def crawl_once(store: str, url: str, key: str, run: str, scratch: str, lease: float) -> Record:
    """Crawl a site in a run; a claim that is not renewed for `lease` seconds is taken over."""
    how = Crawl(manners=Manners(delay=0), allow_private=True, workers=0)
    plan = Plan(store, how, run, config_of(how), scratch, lease=lease, patience=60)
    return crawl_listed(Listed(url, key), plan)


if __name__ == "__main__":
    sys.stdout.write(crawl_once(*sys.argv[1:6], lease=float(sys.argv[6])).result)
