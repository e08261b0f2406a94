"""Extensions from other distributions, found by their entry points.

| group | object |
| --- | --- |
| `roaming.commands` | a click command |
| `roaming.docs` | a folder of package data, which is not imported (see `library.installed`) |
| `roaming.libraries` | a function that opens a LIB argument (see `library.targets.open_with_plugins`) |
| `roaming.lint_rules` | a lint rule, or a list of them |
| `roaming.models` | a factory of models |
| `roaming.themes` | a `Theme` (see `html.themes`) |

Listing the names of a group imports nothing; an object is imported when it is first loaded.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from mkdocs_roaming.errors import PluginError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoints


def entry_point_names(group: str) -> tuple[str, ...]:
    """Return the names in an entry-point group, sorted, without importing the objects."""
    return tuple(sorted(_entry_points(group).names))


@cache
def load_entry_point(group: str, name: str) -> Any:
    """Import and return one object of an entry-point group.

    Raises:
        PluginError: The group has no such name, or the object cannot be imported.
    """
    if name not in entry_point_names(group):
        names = ", ".join(entry_point_names(group)) or "none"
        raise PluginError(f"no entry point {name!r} in the group {group} (installed: {names}); install its package")
    entry_point = _entry_points(group)[name]
    try:
        return entry_point.load()
    except Exception as error:  # code of another distribution runs here: it may raise anything
        package = entry_point.dist.name if entry_point.dist else entry_point.module
        reason = " ".join(f"{type(error).__name__}: {error}".split())
        raise PluginError(
            f"the plugin {name!r} of the package {package} ({group} = {entry_point.value}) cannot be loaded: {reason}; "
            f"update {package} or uninstall it"
        ) from error


def load_entry_points(group: str) -> dict[str, Any]:
    """Import and return all objects of an entry-point group by name, sorted by name.

    Raises:
        PluginError: An object cannot be imported.
    """
    return {name: load_entry_point(group, name) for name in entry_point_names(group)}


@cache
def _entry_points(group: str) -> EntryPoints:
    from importlib.metadata import entry_points  # imports email and zipfile; most commands need no plugin

    return entry_points(group=group)
