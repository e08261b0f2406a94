"""Which sites a store holds, and what is known of each: as it was when that could last be read."""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

from mkdocs_roaming.errors import LibraryError
from roaming_fleet.buckets.base import Bucket, BucketError
from roaming_fleet.catalog import read_records
from roaming_fleet.ranking import Ranking
from roaming_fleet.records import SiteRecord, read_record


@dataclass(frozen=True, slots=True)
class _Listed:
    """What one catalogue tells of every site, and where on the web each of them is."""

    generation: str = ""
    records: tuple[SiteRecord, ...] = ()
    homes: dict[str, list[tuple[str, str]]] = field(default_factory=dict)


class SiteRegistry:
    """The sites of a store, held against it each time so many seconds have gone. May be used from several threads.

    Raises LibraryError for what cannot be read, and never could.
    """

    def __init__(self, bucket: Bucket, *, every: float, clock: Callable[[], float]) -> None:
        self._bucket, self._every, self._clock = bucket, every, clock
        self._lock, self._looking, self._listing = threading.Lock(), threading.Lock(), threading.Lock()
        self._known: OrderedDict[str, tuple[float, SiteRecord | None]] = OrderedDict()
        self._listed = _Listed()
        self._looked = clock()
        self._missed = float("-inf")
        self.is_stale = False
        """Whether the catalogue could not be read when it was looked at last."""
        try:
            self.at_hand = Ranking(bucket)
            """The catalogue as it was then; nothing is waited for."""
        except BucketError as error:
            raise LibraryError(str(error)) from None

    def ranking(self) -> Ranking:
        """Give the catalogue, looked at again where that was long ago."""
        if self._clock() - self._looked >= self._every:
            self.look()
        return self.at_hand

    def look(self) -> None:
        """Look at the catalogue now, unless somebody does. Where it cannot be read, the one at hand goes on."""
        if not self._looking.acquire(blocking=False):
            return
        try:
            self.at_hand.look()
            self.is_stale = False
        except BucketError:
            self.is_stale = True  # what is read next says what is wrong
        finally:
            self._looked = self._clock()
            self._looking.release()

    def records(self) -> Sequence[SiteRecord]:
        """Give what the catalogue tells of every site, in the order of their keys."""
        return self._list().records

    def record(self, key: str) -> SiteRecord | None:
        """Give what the store says of a site, without the words that it is found by; None where it is none."""
        with self._lock:
            looked, known = self._known.get(key, (None, None))
        if looked is not None and self._clock() - looked < self._every:
            return known
        try:
            found = read_record(self._bucket, key)
        except BucketError as error:
            if known is None:
                raise LibraryError(str(error)) from None
            found = known
        if found and found.entry:
            found = replace(found, entry=replace(found.entry, terms={}, names=()))
        with self._lock:
            self._known[key] = (self._clock(), found)
            self._known.move_to_end(key)
            if len(self._known) > _KNOWN:
                self._known.popitem(last=False)
        return found

    def lying_at(self, address: str) -> list[tuple[str, str]]:
        """Give the sites that an address lies on, the deepest first; with each the address as that site spells it."""
        homes = self._list().homes
        whole, sign, anchor = address.strip().partition("#")
        bare = _bare(whole.partition("?")[0])
        found: list[tuple[str, str]] = []
        above = bare.rstrip("/")
        while "/" in above:
            rest = bare[len(above) + 1 :]
            found += [(key, f"{home}{rest}{sign}{anchor}") for key, home in homes.get(above, ())]
            above = above.rpartition("/")[0]
        return found

    def _list(self) -> _Listed:
        generation = self.ranking().generation
        if self._is_old(generation):
            with self._listing:
                if self._is_old(generation):
                    self._listed = self._read(generation)
        return self._listed

    def _is_old(self, generation: str) -> bool:
        """Tell whether to read the list anew; one that could not be read is not asked for again and again."""
        if self._listed.generation in ("", generation):
            return not self._listed.generation
        return self._clock() - self._missed >= self._every

    def _read(self, generation: str) -> _Listed:
        try:
            records = tuple(read_records(self._bucket))
        except BucketError as error:
            if self._listed.generation:
                self._missed = self._clock()
                return self._listed  # as good as it was before
            raise LibraryError(str(error)) from None
        homes: dict[str, list[tuple[str, str]]] = {}
        for record in records:
            if record.entry and "://" in record.entry.url:
                home = record.entry.url.rstrip("/") + "/"
                homes.setdefault(_bare(home).rstrip("/"), []).append((record.key, home))
        return _Listed(generation, records, homes)


def _bare(address: str) -> str:
    """Give an address without what does not count: its scheme, and whether its host is in capitals."""
    host, slash, path = re.sub(r"^[A-Za-z]+:/+", "/", address).removeprefix("/").partition("/")
    return f"/{host.lower()}{slash}{path}"


_KNOWN = 1_024  # sites
