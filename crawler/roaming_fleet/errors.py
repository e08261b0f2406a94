"""Errors about sites of a store."""

from __future__ import annotations

import time
from collections.abc import Callable

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word
from roaming_fleet.records import SiteRecord


class SiteNotFoundError(UsageError):
    """A store has no site with this key."""

    def __init__(self, where: str, key: str) -> None:
        """Create the error."""
        super().__init__(f"{where}: no site {key}; `roaming sites {where}` lists them")
        self.key = key


class SiteNotCrawledError(UsageError):
    """A site of a store has never been crawled successfully.

    Attributes:
        public_message: Message for clients, without the store's location and the reason.
    """

    def __init__(self, where: str, record: SiteRecord) -> None:
        """Create the error."""
        failure = f"{record.key} could not be crawled yet"
        reason = truncate_at_word(to_single_line(record.error), _MAX_REASON_CHARS) or "no reason is known"
        next_try = _format_time(time.localtime, record.next_try)
        super().__init__(f"{where}: {failure}: {reason}; tried again {next_try}")
        self.public_message = f"{failure}; tried again {_format_time(time.gmtime, record.next_try, ' UTC')}"


def _format_time(convert: Callable[[float], time.struct_time], at: float, zone: str = "") -> str:
    text = f"after {time.strftime('%Y-%m-%d %H:%M', convert(at))}{zone}"
    return text if at > time.time() else "by the next crawl"


_MAX_REASON_CHARS = 200
