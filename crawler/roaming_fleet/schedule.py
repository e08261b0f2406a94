"""Schedule: which sites are due, from their last crawl and the configuration."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict, replace
from typing import Any, Literal

import msgspec

from mkdocs_roaming.html.themes import load_themes
from mkdocs_roaming.publish.cache import CONVERTER_VERSION
from roaming_crawler.config import CrawlConfig
from roaming_crawler.parser import PARSER_VERSION
from roaming_crawler.session import MAX_PAGES_OPTION
from roaming_fleet.records import SiteRecord


def site_status(
    record: SiteRecord | None, digest: str, now: float, older_than: float | None, *, refresh: bool
) -> Literal["due", "fresh", "waiting"]:
    """Return whether a site is due, fresh, or waiting for its next try.

    Args:
        record: Last crawl of the site.
        digest: Digest of the configuration.
        now: Unix time in seconds.
        older_than: Age in seconds after which a site is due again; None means never.
        refresh: Crawl all sites.
    """
    if record is None or refresh or not _is_current(record.config, digest):
        return "due"
    if is_unfinished(record.stopped):
        return "due"
    if record.state == "failed" or record.kept:
        return "due" if now >= record.next_try else "waiting"
    crawled = record.entry.crawled if record.entry else 0.0
    return "due" if older_than is not None and now - crawled >= older_than else "fresh"


def is_unfinished(stopped: str) -> bool:
    """Return whether a crawl that reached a limit is continued by the next one."""
    return bool(stopped) and MAX_PAGES_OPTION not in stopped


def config_digest(config: CrawlConfig) -> str:
    """Return a digest of what determines the published files: the versions of parser and converter, and the options.

    Options that do not affect the output, and options with their default values, are left out. So a new option in a
    later version does not cause all sites to be crawled again.
    """
    options = _non_default_options(config)
    for name in ("politeness", "resume", "refresh", "allow_private", "workers"):
        options = {key: value for key, value in options.items() if key.partition(".")[0] != name}
    text = json.dumps({_stored_name(key): value for key, value in options.items()}, sort_keys=True, default=str)
    text += load_themes().fingerprint
    return f"{CONVERTER_VERSION}.{PARSER_VERSION}-{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def _non_default_options(config: CrawlConfig) -> dict[str, Any]:
    options, default = (
        _flatten(asdict(replace(one, embeddings=None)) | {"options": msgspec.structs.asdict(one.options)})
        for one in (config, CrawlConfig())
    )
    changed = {name: value for name, value in options.items() if default.get(name) != value}
    changed |= {"meaning": config.embeddings.model} if config.embeddings else {}
    return changed | ({"patterns": "gitignore"} if config.scope.include or config.scope.exclude else {})


def _flatten(data: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in data.items():
        found |= _flatten(value, f"{prefix}{name}.") if isinstance(value, dict) else {prefix + name: value}
    return found


def _stored_name(key: str) -> str:
    """Return the name of an option in the digest, which stays the same when a field is renamed."""
    first, dot, rest = key.partition(".")
    return _STORED_NAMES.get(first, first) + dot + rest


def _is_current(recorded: str, digest: str) -> bool:
    """Return whether a site was published with these options, by these or newer versions.

    With newer ones, because two versions that crawl one store would otherwise crawl every site in turns.
    """
    (their_versions, _, their_options), (versions, _, options) = recorded.partition("-"), digest.partition("-")
    try:
        theirs, ours = (list(map(int, text.split("."))) for text in (their_versions, versions))
    except ValueError:
        return False
    return their_options == options and theirs >= ours


_STORED_NAMES = {"scope": "area", "discovery": "sources"}
