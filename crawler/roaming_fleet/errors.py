"""Sites of a store that cannot be opened, since they are not there, or not yet."""

from __future__ import annotations

import time
from collections.abc import Callable

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.text.markdown import to_single_line, truncate_at_word
from roaming_fleet.records import SiteRecord


class SiteNotFoundError(UsageError):
    """A store holds no site of this name."""

    def __init__(self, where: str, key: str) -> None:
        super().__init__(f"{where}: no site {key}; `roaming sites {where}` lists them")
        self.key = key


class SiteNotCrawledError(UsageError):
    """A site of a store could not be crawled yet, so there is nothing of it."""

    def __init__(self, where: str, record: SiteRecord) -> None:
        failed = f"{record.key} could not be crawled yet"
        why = truncate_at_word(to_single_line(record.error), _LONGEST) or "no reason is known"
        super().__init__(f"{where}: {failed}: {why}; tried again {_due(time.localtime, record.next_try)}")
        self.public_message = f"{failed}; tried again {_due(time.gmtime, record.next_try, ' UTC')}"


def _due(there: Callable[[float], time.struct_time], then: float, zone: str = "") -> str:
    after = f"after {time.strftime('%Y-%m-%d %H:%M', there(then))}{zone}"
    return after if then > time.time() else "by the next crawl"


_LONGEST = 200
