"""robots.txt after RFC 9309.

Protego parses the rules. The names of crawlers are matched here, because Protego accepts a part of a name and does not
accept a name with a version. Remaining differences to the RFC are listed in the tests of this module: an unknown line
ends a group, and escapes of `?`, `$` and of characters in a query are interpreted differently.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from protego import Protego

AGENT = "mkdocs-roaming"
"""Default product token of this crawler."""
MAX_CRAWL_DELAY = 30.0
"""Longest Crawl-delay, in seconds, that is followed."""
MAX_ROBOTS_BYTES = 512 * 1024
"""Number of bytes that are parsed; the RFC requires at least 500 KiB."""


@dataclass(frozen=True, slots=True)
class Robots:
    """The rules of one host for this crawler."""

    rules: Protego | None = None
    agent: str = AGENT
    closed: str = ""
    """Why nothing may be fetched, if robots.txt itself is unavailable."""

    def allows(self, url: str) -> bool:
        """Return whether a URL may be fetched."""
        if self.closed:
            return False
        return self.rules is None or bool(self.rules.can_fetch(url, self.agent))

    @property
    def delay(self) -> float:
        """The Crawl-delay in seconds, 0 if there is none."""
        delay = self.rules.crawl_delay(self.agent) if self.rules else None
        return min(max(float(delay or 0), 0.0), MAX_CRAWL_DELAY)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The URLs of the listed sitemaps."""
        return tuple(self.rules.sitemaps) if self.rules else ()


def product_token(user_agent: str) -> str:
    """Return the product token of a User-Agent, the name that robots.txt uses."""
    return re.split(r"[/\s(]", user_agent.strip(), maxsplit=1)[0] or AGENT


def parse_robots(status: int, body: bytes, agent: str = AGENT) -> Robots:
    """Return the rules of a robots.txt response.

    With a status of 4xx everything is allowed, with 5xx and 429 nothing is.
    """
    if 400 <= status < 500 and status != 429:
        return Robots()
    if status != 200:
        return Robots(closed=f"robots.txt has status {status}")
    text = body[:MAX_ROBOTS_BYTES].decode("utf-8-sig", "replace")
    return Robots(Protego.parse(_USER_AGENT_LINE.sub(lambda line: _normalize_agent(line, agent), text)), agent)


_USER_AGENT_LINE = re.compile(r"^([ \t]*user[ \t-]?agent[ \t]*:?[ \t]*)([^\r\n#]*)", re.IGNORECASE | re.MULTILINE)


def _normalize_agent(line: re.Match[str], agent: str) -> str:
    """Reduce a User-agent line to the product token, and rename other crawlers so that Protego cannot match them."""
    name = re.split(r"[/\s(;,]", line[2].strip(), maxsplit=1)[0]
    if name not in ("*", ""):
        name = agent if name.casefold() == agent.casefold() else "somebody-else"
    return f"{line[1]}{name} "
