"""Exceptions of mkdocs-roaming. Every message is one line that names the place and the fix.

RoamingError
├── UsageError              an invalid request: option, argument or target
├── PublishError            a site cannot be published
│   └── ConversionError         the HTML of a page cannot be converted
├── PluginError             an entry point of another package cannot be loaded
├── ManifestError           a manifest is invalid or has a higher version
├── ModelError              a language model cannot reply
│   ├── ContextError            the request does not fit into the model's context
│   └── ToolsUnsupportedError   the model cannot call tools
└── LibraryError            a published site cannot be opened or read
    ├── ManifestNotFoundError   the site publishes no manifest
    └── DigestMismatchError     the text of a section does not match its digest
"""

from __future__ import annotations


class RoamingError(Exception):
    """Base class of all errors that a user can fix.

    Example:
        ```python
        try:
            library = mkdocs_roaming.open_library("site")
        except mkdocs_roaming.RoamingError as error:
            print(error)
        ```
    """

    public_message = ""
    """Message for visitors of a site, without file names and reasons; empty if they see a generic message."""


def explain_os_error(error: OSError) -> str:
    """Return what a user can do about a file that cannot be read or written; without a name it is the output."""
    place = error.filename2 or error.filename or "the output"
    reason = error.strerror or error
    return f"{place}: cannot be used ({reason}); fix that and repeat the command"


class UsageError(RoamingError):
    """An option, an argument or the target of a request is invalid."""


class PublishError(RoamingError):
    """A site cannot be published."""


class ConversionError(PublishError):
    """The HTML of a page cannot be converted to Markdown."""


class PluginError(RoamingError):
    """An entry point of another package cannot be loaded."""


class ManifestError(RoamingError):
    """A manifest is invalid or has a higher version."""


class ModelError(RoamingError):
    """A language model cannot reply.

    Attributes:
        retryable: Whether the same request may succeed in a moment.
        retry_after: The pause in seconds that the provider asks for, if any.
        unbilled: Whether the request was refused before any token was read or written.
        cause: `key`, `credit`, `rate`, `overload`, `failure`, `address`, `request`, `size`, `timeout`, `connection`,
            `format`, or `model` for any other cause.
    """

    def __init__(
        self,
        message: str,
        *,
        retryable: bool = False,
        retry_after: float | None = None,
        unbilled: bool = False,
        cause: str = "model",
    ) -> None:
        """Set the message, the cause and what is known about a retry."""
        super().__init__(message)
        self.cause = cause
        self.retryable = retryable
        self.retry_after = retry_after
        self.unbilled = unbilled


class ContextError(ModelError):
    """A request and its reply do not fit into the model's context: the server refused it, or cut it without a word.

    Attributes:
        limit: The size of the context in tokens, None if the server does not say it.
    """

    def __init__(self, message: str, *, limit: int | None = None, unbilled: bool = False, cause: str = "size") -> None:
        """Set the message and the limit; the cause is `thinking` if a model thinks that was not known to."""
        super().__init__(message, unbilled=unbilled, cause=cause)
        self.limit = limit


class ToolsUnsupportedError(ModelError):
    """The server refuses requests with tools for this model."""


class LibraryError(RoamingError):
    """A published site cannot be opened or read."""


class ManifestNotFoundError(LibraryError):
    """A site exists, but publishes no manifest."""


class DigestMismatchError(LibraryError):
    """The text of a section does not match its digest, even after it was read again."""
