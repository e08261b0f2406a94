"""The exceptions that mkdocs-roaming raises; every message names the place and the cure.

RoamingError
├── UsageError          what the caller asked for cannot be done as asked
├── PublishError        a site cannot be published
│   └── ConversionError     one page's HTML cannot become Markdown
├── PluginError         an entry point of another package cannot be loaded
├── ManifestError       a manifest is not one, is broken, or is from a newer version
├── ModelError          a language model cannot reply
└── LibraryError        a published site cannot be opened or read
    ├── NoManifest          there is a site, but it publishes no manifest
    └── WrongSlice          a section's text does not fit its digest
"""

from __future__ import annotations


class RoamingError(Exception):
    """Anything that goes wrong here and that its user can mend; the message is one line."""

    public_message = ""
    """What may be told of it to visitors, who are to know no files and no reasons; empty where nothing may."""


class UsageError(RoamingError):
    """What the caller asked for cannot be done as asked."""


class PublishError(RoamingError):
    """A site cannot be published."""


class ConversionError(PublishError):
    """One page's HTML cannot become Markdown."""


class PluginError(RoamingError):
    """An entry point of another package cannot be loaded."""


class ManifestError(RoamingError):
    """A manifest is not one, is broken, or is from a newer version."""


class ModelError(RoamingError):
    """A language model cannot reply.

    Attributes:
        retryable: Whether the same request may succeed in a moment.
        retry_after: The pause in seconds that the provider asks for, if any.
        unbilled: Whether the request was refused before any token was read or written.
    """

    def __init__(
        self, message: str, *, retryable: bool = False, retry_after: float | None = None, unbilled: bool = False
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after = retry_after
        self.unbilled = unbilled


class LibraryError(RoamingError):
    """A published site cannot be opened or read."""


class ManifestNotFoundError(LibraryError):
    """There is a site, but it publishes no manifest."""


class DigestMismatchError(LibraryError):
    """A section's text does not fit its digest, even after a second look."""
