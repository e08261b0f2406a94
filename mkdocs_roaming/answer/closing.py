"""What is found out when an answer is over: what supports it, or what lies nearest where there is none."""

from __future__ import annotations

import logging

import anyio

from mkdocs_roaming.answer.conversation import Conversation
from mkdocs_roaming.answer.events import NotFound, Reference
from mkdocs_roaming.answer.support import Support, support
from mkdocs_roaming.answer.threads import in_thread
from mkdocs_roaming.roam.navigator import Found, Navigator


def supported(text: str, navigator: Navigator) -> Support:
    """Hold an answer against all sections that were opened for it; raises LibraryError where one cannot be read."""
    library, places = navigator.library, navigator.places
    opened = filter(None, map(places.get, navigator.opened))
    texts = {place.id: library.text(place) for place in opened}
    return support(text, texts, language=library.manifest.site.language)


async def not_found(question: str, navigator: Navigator, conversation: Conversation) -> NotFound:
    """Give what was looked at and what lies nearest: said even when time is up, but not at any price."""
    reference = conversation.reference
    nearest: tuple[Reference, ...] = ()
    with anyio.move_on_after(_LAST_SECOND):
        try:
            found = await in_thread(lambda: navigator.search_sections(question))
        except Exception:
            _log.debug("no nearest sections", exc_info=True)
        else:
            nearest = tuple(reference(hit.id) for hit in found.hits) if isinstance(found, Found) else ()
    return NotFound(tuple(map(reference, conversation.looked_at)), nearest)


_log = logging.getLogger(__name__)
_LAST_SECOND = 1.0
