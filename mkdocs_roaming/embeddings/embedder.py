"""What embedding models have in common: they compute vectors of texts, or fail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from mkdocs_roaming.errors import RoamingError

BATCH_SIZE = 32
"""Maximum number of texts at once: the smallest limit of the common servers."""

MAX_DIMENSIONS = 8_192

FAILURE_PAUSE = 60.0
"""Pause after a failure, in seconds, so that not every query waits for the server."""

Vector = Sequence[float]


class Embedder(Protocol):
    """Computes vectors of texts; `model` is the name of the model."""

    model: str

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Return a vector for each text, all of the same length; there are at most `BATCH_SIZE`.

        Raises:
            EmbeddingError: The vectors cannot be computed.
        """


class FailedEmbedder:
    """A model that cannot be opened: it computes no vectors, for the reason that was found.

    Args:
        model: The name of the model.
        error: The reason.
    """

    def __init__(self, model: str, error: EmbeddingError) -> None:
        self.model = model
        self._error = error

    def embed(self, texts: Sequence[str]) -> list[Vector]:
        """Raise the error."""
        raise self._error


class EmbeddingError(RoamingError):
    """The vectors of texts cannot be computed.

    Args:
        message: The reason.
        retryable: Whether a later request may succeed.
        retry_after: The pause in seconds that the server asks for.
    """

    def __init__(self, message: str, *, retryable: bool = False, retry_after: float | None = None) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after
