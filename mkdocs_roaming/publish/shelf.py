"""Values kept on disk: what a dict of pages would hold in memory, for sites of any size."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Generic, Self, TypeVar

V = TypeVar("V")


class Shelf(MutableMapping[str, V], Generic[V]):
    """A dict whose values lie in a temporary file without a name, so that nothing of it outlives the process.

    What is got is a copy: a value that was changed has to be set again.
    """

    def __init__(self, folder: Path) -> None:
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 -- lives as long as this does
        self._places: dict[str, tuple[int, int]] = {}
        self._end = 0

    def __getitem__(self, key: str) -> V:
        start, size = self._places[key]
        self._file.seek(start)
        value: V = pickle.loads(self._file.read(size))  # our own: nobody else can open a file without a name
        return value

    def __setitem__(self, key: str, value: V) -> None:
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self._file.seek(self._end)
        self._file.write(data)
        self._places[key] = (self._end, len(data))
        self._end += len(data)

    def __delitem__(self, key: str) -> None:
        del self._places[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __contains__(self, key: object) -> bool:
        return key in self._places

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Give its room on the disk back."""
        self._file.close()
        self._places.clear()
