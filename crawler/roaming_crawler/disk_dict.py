"""A dict that stores its values in a temporary file, for sites that do not fit into memory."""

from __future__ import annotations

import pickle
import tempfile
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Self, TypeVar

V = TypeVar("V")


class DiskDict(MutableMapping[str, V]):
    """A dict that stores its values in an anonymous temporary file.

    Reading a key returns a copy: assign a changed value to store it.
    """

    def __init__(self, folder: Path) -> None:
        """Create an empty dict with its file in `folder`."""
        self._file = tempfile.TemporaryFile(dir=folder)  # noqa: SIM115 -- closed by close()
        self._spans: dict[str, tuple[int, int]] = {}
        self._end = 0

    def __getitem__(self, key: str) -> V:
        """Return a copy of a value."""
        start, size = self._spans[key]
        self._file.seek(start)
        value: V = pickle.loads(self._file.read(size))  # trusted: no other process can open an anonymous file
        return value

    def __setitem__(self, key: str, value: V) -> None:
        """Store a value at the end of the file."""
        data = pickle.dumps(value, pickle.HIGHEST_PROTOCOL)
        self._file.seek(self._end)
        self._file.write(data)
        self._spans[key] = (self._end, len(data))
        self._end += len(data)

    def __delitem__(self, key: str) -> None:
        """Remove a key; its space is not reused."""
        del self._spans[key]

    def __iter__(self) -> Iterator[str]:
        """Iterate over the keys."""
        return iter(self._spans)

    def __len__(self) -> int:
        """Return the number of keys."""
        return len(self._spans)

    def __contains__(self, key: object) -> bool:
        """Return whether there is a key, without reading its value."""
        return key in self._spans

    def __enter__(self) -> Self:
        """Return the dict."""
        return self

    def __exit__(self, *_: object) -> None:
        """Delete the file."""
        self.close()

    def close(self) -> None:
        """Delete the file."""
        self._file.close()
        self._spans.clear()
