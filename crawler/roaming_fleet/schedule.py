"""Which sites are due: by when and how they were crawled last, and what is asked for now."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from typing import Any

from roaming_crawler.crawl import CrawlConfig
from roaming_crawler.parse_cache import PARSER_VERSION
from roaming_crawler.session import MAX_PAGES_OPTION

from mkdocs_roaming.html.themes import load_themes
from mkdocs_roaming.publish.cache import CONVERTER_VERSION
from roaming_fleet.records import SiteRecord


def site_status(record: SiteRecord | None, config: str, now: float, older_than: float | None, *, refresh: bool) -> str:
    """Tell whether a site is `due`, `fresh`, or `waiting` for its next try."""
    if record is None or refresh or not _made_so(record.config, config):
        return "due"
    if is_unfinished(record.stopped):
        return "due"
    if record.state == "failed" or record.kept:
        return "due" if now >= record.next_try else "waiting"
    crawled = record.entry.crawled if record.entry else 0.0
    return "due" if older_than is not None and now - crawled >= older_than else "fresh"


def is_unfinished(stopped: str) -> bool:
    """Tell whether a crawl that a limit has stopped is gone on with by the next one."""
    return bool(stopped) and MAX_PAGES_OPTION not in stopped


def config_digest(how: CrawlConfig) -> str:
    """Give what decides what is published of a site: who reads and converts it, and a digest of what was asked for.

    Pace and processes decide nothing. Neither does what stands as it does by default: so an option that comes with a
    later version changes nothing for whoever does not use it.
    """
    said = _said(how)
    for name in ("manners", "resume", "refresh", "allow_private", "workers"):
        said = {key: value for key, value in said.items() if key.partition(".")[0] != name}
    text = json.dumps(said, sort_keys=True, default=str) + load_themes().fingerprint
    return f"{CONVERTER_VERSION}.{PARSER_VERSION}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _said(how: CrawlConfig) -> dict[str, Any]:
    plain = replace(how, options=replace(how.options, embeddings=None))
    default = _leaves(asdict(CrawlConfig()))
    said = {name: value for name, value in _leaves(asdict(plain)).items() if default.get(name) != value}
    return said | ({"meaning": how.options.embeddings.model} if how.options.embeddings else {})


def _leaves(data: dict[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in data.items():
        found |= _leaves(value, f"{above}{name}.") if isinstance(value, dict) else {above + name: value}
    return found


def _made_so(made: str, config: str) -> bool:
    """Tell whether what was published is what is asked for now. What a newer version has made is: else two versions
    that crawl one store would crawl it all in turns.
    """
    (theirs, _, said), (ours, _, asked) = made.partition("-"), config.partition("-")
    try:
        return said == asked and [int(one) for one in theirs.split(".")] >= [int(one) for one in ours.split(".")]
    except ValueError:
        return False
