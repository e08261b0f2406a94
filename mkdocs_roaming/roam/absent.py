"""Sites of a store that cannot be opened, since they are not there, or not yet."""

from __future__ import annotations

import time
from collections.abc import Callable

from mkdocs_roaming.catalogue import Record
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.headings import cut_at_word, one_line


class NoSite(UsageError):  # noqa: N818 -- says what is missing, as NoManifest does
    """A store holds no site of this name."""

    def __init__(self, where: str, key: str) -> None:
        super().__init__(f"{where}: no site {key}; `roaming sites {where}` lists them")
        self.key = key


class NotCrawled(UsageError):  # noqa: N818 -- as above
    """A site of a store could not be crawled yet, so there is nothing of it."""

    def __init__(self, where: str, record: Record) -> None:
        failed = f"{record.key} could not be crawled yet"
        why = cut_at_word(one_line(record.error), _LONGEST) or "no reason is known"
        super().__init__(f"{where}: {failed}: {why}; tried again {_due(time.localtime, record.next_try)}")
        self.outside = f"{failed}; tried again {_due(time.gmtime, record.next_try, ' UTC')}"


def _due(there: Callable[[float], time.struct_time], then: float, zone: str = "") -> str:
    after = f"after {time.strftime('%Y-%m-%d %H:%M', there(then))}{zone}"
    return after if then > time.time() else "by the next crawl"


_LONGEST = 200
