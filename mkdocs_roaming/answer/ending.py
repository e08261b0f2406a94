"""How an answer stops early: a budget spent, a refusal, a failure told in one line."""

from __future__ import annotations

import logging
from collections.abc import Awaitable
from typing import TypeVar

from mkdocs_roaming.answer.budget import OutOfTime
from mkdocs_roaming.answer.events import State
from mkdocs_roaming.errors import RoamingError


class Ended(Exception):  # noqa: N818 -- no error: it is how an answer stops early
    """The answer ends here, whatever was going on."""

    def __init__(self, state: State, *, spent: str = "", error: str = "") -> None:
        self.state, self.spent, self.error = state, spent, error


async def ending(waiting: Awaitable[_T], who: str) -> _T:
    """Wait for something; what it raises ends the answer."""
    try:
        return await waiting
    except Ended:
        raise
    except OutOfTime:
        raise Ended("budget", spent="seconds") from None
    except Exception as error:
        raise failed(error, who) from None


def failed(error: Exception, who: str) -> Ended:
    """Give the end that an exception makes: our own errors name the cure, of others the first words are told."""
    _log.debug("%s failed", who, exc_info=error)
    what = " ".join(str(error).split())
    if not isinstance(error, RoamingError):
        what = f"{who} failed: {type(error).__name__}" + (f": {what[:_LONGEST_ERROR]}" if what else "")
    return Ended("error", error=what[:_LONGEST] or type(error).__name__)


_T = TypeVar("_T")
_log = logging.getLogger(__name__)
_LONGEST_ERROR = 200  # of what others raise
_LONGEST = 1_000  # ours end with the cure
