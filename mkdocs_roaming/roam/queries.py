"""Questions as vectors: one request for each, the last ones kept, and an endpoint that fails left alone for a while."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from queue import Empty, SimpleQueue

from mkdocs_roaming.embed import Embedder, EmbeddingError, Vector
from mkdocs_roaming.roam.search import LONGEST

PATIENCE = 2.0
"""The seconds that a question waits for its vector."""
PAUSE = 60.0
"""The seconds for which an endpoint that failed is left alone: not every question should wait for it."""

Tell = Callable[[str], None]


class Queries:
    """Questions as vectors, the last ones kept. Shared by all libraries; safe from several threads.

    `tell` gets one line when the endpoint fails, and again only after it was well in between.
    """

    def __init__(
        self,
        embedder: Embedder,
        *,
        prefix: str = "",
        tell: Tell = lambda line: None,
        patience: float = PATIENCE,
        pause: float = PAUSE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.model = embedder.model
        self.tell = tell
        self.asked = self.failures = 0
        self._embedder, self._prefix, self._patience, self._pause = embedder, prefix, patience, pause
        self.clock = clock
        self._lock = threading.Lock()
        self._kept: OrderedDict[str, Vector] = OrderedDict()
        self._rests_until = float("-inf")
        self._told = ""

    @property
    def well(self) -> bool:
        """Whether the endpoint did not fail when it was asked last."""
        return not self._told

    def kept(self, query: str) -> Vector | None:
        """Give a question's vector if it is known already."""
        with self._lock:
            vector = self._kept.get(_text(query))
            if vector is not None:
                self._kept.move_to_end(_text(query))
            return vector

    def vector(self, query: str) -> Vector | None:
        """Give a question's vector; None where it cannot be had now."""
        if (vector := self.kept(query)) is not None:
            return vector
        with self._lock:
            if self.clock() < self._rests_until:
                return None
            if self._told:
                self._rests_until = self.clock() + self._pause  # one question tries, the others need not wait
        try:
            return self._asked(_text(query))
        except EmbeddingError as error:
            self.fail(str(error))
            return None

    def fail(self, why: str) -> None:
        """Leave the endpoint alone for a while, and say why, once."""
        with self._lock:
            self.failures += 1
            self._rests_until = self.clock() + self._pause
            new, self._told = not self._told, why
        if new:
            self.tell(f"search goes by words alone: {why}")

    def _asked(self, text: str) -> Vector:
        """Ask for a vector, and wait no longer than patience lasts; one that comes late is kept for the next time."""
        came: SimpleQueue[Vector | EmbeddingError] = SimpleQueue()

        def ask() -> None:
            try:
                (vector,) = self._embedder.embed([self._prefix + text])
            except EmbeddingError as error:
                came.put(error)
            except Exception as error:  # whatever it is, the question must not wait for it
                came.put(EmbeddingError(f"{self.model}: {type(error).__name__}"))
            else:
                self._keep(text, vector)
                came.put(vector)

        self.asked += 1
        threading.Thread(target=ask, name="roaming embeddings", daemon=True).start()
        try:
            found = came.get(timeout=self._patience)
        except Empty:
            raise EmbeddingError(f"{self.model}: no answer within {self._patience:g} seconds") from None
        if isinstance(found, EmbeddingError):
            raise found
        with self._lock:
            self._told, self._rests_until = "", float("-inf")
        return found

    def _keep(self, text: str, vector: Vector) -> None:
        with self._lock:
            self._kept[text] = vector
            if len(self._kept) > _MOST_KEPT:
                self._kept.popitem(last=False)


def _text(query: str) -> str:
    return " ".join(query[:LONGEST].split())


_MOST_KEPT = 256
