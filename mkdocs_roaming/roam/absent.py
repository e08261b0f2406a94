"""Sites of a store that cannot be opened, since they are not there."""

from __future__ import annotations

from mkdocs_roaming.errors import UsageError


class NoSite(UsageError):  # noqa: N818 -- says what is missing, as NoManifest does
    """A store holds no site of this name."""

    def __init__(self, where: str, key: str) -> None:
        super().__init__(f"{where}: no site {key}; `roaming sites {where}` lists them")
        self.key = key
