"""Pages that tell what changed once: who asks how something works seldom means them, though they name it all."""

from __future__ import annotations

import re
from collections.abc import Sequence

from mkdocs_roaming.languages import fold
from mkdocs_roaming.manifest import PageEntry
from mkdocs_roaming.words import Word


def is_history(page: PageEntry) -> bool:
    """Tell whether a page is a change log or release notes, by its title or the end of its path."""
    return any(_NAME.fullmatch(fold(name)) for name in (page.title.strip(), _last(page.path)))


def asks_for_history(words: Sequence[Word]) -> bool:
    """Tell whether a question is about versions and changes."""
    return any(word.whole in _ASKED or _VERSION.match(word.text) for word in words)


def _last(path: str) -> str:
    return path.strip("/").rpartition("/")[2].removesuffix(".html")


_NAME = re.compile(
    "release[ _-]?notes?|releases?|change[ _-]?logs?|changes|(?:version )?history|what[’']?s[ -]new|news"
    "|versionshinweise|anderungen|anderungsprotokoll|neuigkeiten"
    "|notes? de versions?|journal des modifications|nouveautes|notas de (?:la )?version|registro de cambios|novedades"
    "|更新日志|更新日誌|变更日志|发行说明|変更履歴|リリースノート"
)
_VERSION = re.compile(r"v?\d+\.\d")
_ASKED = frozenset(
    """
    added change changed changelog changes deprecated history introduced migrate migration new news release released
    releases removed renamed since upgrade upgraded upgrading version versions when
    anderung anderungen geandert neu seit veroffentlicht wann entfernt
    ajoute change changements depuis nouveau nouveaute nouveautes supprime quand
    anadido cambio cambios desde nuevo novedades eliminado cuando
    """.split()  # noqa: SIM905 -- a list of them would be forty lines
)
