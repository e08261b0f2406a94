"""Publish documentation that language models and agents can navigate, and answer questions from it.

The names in `__all__` are the public API. Other than the errors, they are imported when they are first used:
`import mkdocs_roaming` alone loads neither an HTML parser nor an HTTP client.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from mkdocs_roaming._version import __version__
from mkdocs_roaming.errors import (
    ContextError,
    ConversionError,
    DigestMismatchError,
    LibraryError,
    ManifestError,
    ManifestNotFoundError,
    ModelError,
    PluginError,
    PublishError,
    RoamingError,
    ToolsUnsupportedError,
    UsageError,
)

if TYPE_CHECKING:
    from mkdocs_roaming._api import ask, astream, publish_pages, publish_site, stream
    from mkdocs_roaming.answer.events import Answer, Event, Reference
    from mkdocs_roaming.answer.models.base import Model
    from mkdocs_roaming.library.library import Library, Section
    from mkdocs_roaming.library.search import SearchResult
    from mkdocs_roaming.library.targets import open_library
    from mkdocs_roaming.manifest.lookup import Scope
    from mkdocs_roaming.manifest.models import Page
    from mkdocs_roaming.publish.writer import PublishReport

__all__ = [
    "Answer",
    "ContextError",
    "ConversionError",
    "DigestMismatchError",
    "Event",
    "Library",
    "LibraryError",
    "ManifestError",
    "ManifestNotFoundError",
    "Model",
    "ModelError",
    "Page",
    "PluginError",
    "PublishError",
    "PublishReport",
    "Reference",
    "RoamingError",
    "Scope",
    "SearchResult",
    "Section",
    "ToolsUnsupportedError",
    "UsageError",
    "__version__",
    "ask",
    "astream",
    "open_library",
    "publish_pages",
    "publish_site",
    "stream",
]

_MODULES = {
    "_api": ("ask", "astream", "publish_pages", "publish_site", "stream"),
    "answer.events": ("Answer", "Event", "Reference"),
    "answer.models.base": ("Model",),
    "library.library": ("Library", "Section"),
    "library.targets": ("open_library",),
    "library.search": ("SearchResult",),
    "manifest.lookup": ("Scope",),
    "manifest.models": ("Page",),
    "publish.writer": ("PublishReport",),
}
_MODULE_OF_NAME = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> Any:
    if name not in _MODULE_OF_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_MODULE_OF_NAME[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
