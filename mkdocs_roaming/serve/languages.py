"""A site in all its languages: whoever asks in one of them is answered from that one.

The other languages are those that the site's manifest names and that lie below the site itself: no manifest can send us
anywhere else. Each is opened and watched like the first; until one is open, the first answers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import unquote

import anyio

from mkdocs_roaming.manifest import PATH
from mkdocs_roaming.serve.deployments import Deployment, Deployments

MOST = 12
"""The most languages that are opened beside the first."""


class Languages:
    """The deployments of a site in each language; `main` are those it was asked for by."""

    def __init__(self, main: Deployments, make: Callable[[str | Path], Deployments]) -> None:
        self.main = main
        self._make = make
        self._others: dict[str, Deployments] = {}

    def now(self, language: str = "") -> Deployment:
        """Give the deployment to answer from in a language; raises Refused while there is none at all."""
        main = self.main.now()
        tag = language.replace("_", "-").lower()
        own = main.library.manifest.site.language.lower()
        for wanted in (tag, tag.partition("-")[0]):
            other = self._others.get(wanted)
            if wanted == own or not wanted:
                return main
            if other is not None and other.current is not None:
                return other.current
        return main

    async def run(self) -> None:
        """Open and watch all of them, until it is cancelled."""
        async with anyio.create_task_group() as group:
            group.start_soon(self.main.run)
            while True:
                for new in self._new():
                    group.start_soon(new.run)
                await anyio.sleep(min(self.main.every, _SOON))

    async def look(self) -> None:
        """Look at all of them once, where nobody watches."""
        await self.main.look()
        for _ in self._new():
            pass
        for other in self._others.values():
            await other.look()

    def _new(self) -> Iterator[Deployments]:
        """Take in languages that were not known yet, and give what is to be watched for each."""
        for language, where in self._places(self.main.current) if self.main.current else ():
            if language not in self._others and len(self._others) < MOST:
                self._others[language] = self._make(where)
                yield self._others[language]

    def _places(self, main: Deployment) -> Iterator[tuple[str, str | Path]]:
        """Give the other languages, and where each lies below what was opened."""
        site = main.library.manifest.site
        for other in site.alternates:
            below = other.manifest.removeprefix(site.url).lstrip("/")
            strange = any(sign in unquote(below) for sign in ("..", ":", "\\", "//"))  # each may lead elsewhere
            inside = other.manifest.startswith(site.url) and below.endswith(PATH) and not strange
            if other.language and inside and below != PATH and other.version in (None, site.version):
                root = main.library.where
                distant = root.lower().startswith(("http://", "https://"))
                yield other.language.lower(), root + below if distant else Path(root) / below


_SOON = 1.0
