"""What a host's robots.txt asks of crawlers, by RFC 9309.

Protego reads it. Names of crawlers are made out here, since it takes a part of a name for the whole, and a name with a
version for another. Where it still differs from the RFC, tests/crawler/test_robots.py says so case by case: a line that
it does not know ends a group, and escapes of `?`, `$` and of what stands in a query are read otherwise.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from protego import Protego

AGENT = "mkdocs-roaming"
"""The name that robots.txt calls us by."""
MAX_CRAWL_DELAY = 30.0
"""The most seconds between two requests that a Crawl-delay is followed to."""
MAX_ROBOTS_BYTES = 512 * 1024
"""The bytes of a robots.txt that are read; the RFC asks for 500 KiB at least."""


@dataclass(frozen=True, slots=True)
class Robots:
    """What a host's robots.txt says to us."""

    rules: Protego | None = None
    agent: str = AGENT
    closed: str = ""
    """Why nothing may be fetched: robots.txt itself could not be."""

    def allows(self, url: str) -> bool:
        """Tell whether an address may be fetched."""
        if self.closed:
            return False
        return self.rules is None or bool(self.rules.can_fetch(url, self.agent))

    @property
    def delay(self) -> float:
        """The seconds between two requests that it asks for, 0 where it does not."""
        asked = self.rules.crawl_delay(self.agent) if self.rules else None
        return min(max(float(asked or 0), 0.0), MAX_CRAWL_DELAY)

    @property
    def sitemaps(self) -> tuple[str, ...]:
        """The sitemaps that it names."""
        return tuple(self.rules.sitemaps) if self.rules else ()


def product_token(user_agent: str) -> str:
    """Give the name that robots.txt calls a crawler by: the product that its User-Agent begins with."""
    return re.split(r"[/\s(]", user_agent.strip(), maxsplit=1)[0] or AGENT


def parse_robots(status: int, body: bytes, agent: str = AGENT) -> Robots:
    """Read an answer for robots.txt.

    None there (4xx): everything is allowed. A server in trouble (5xx): nothing is, until it answers.
    """
    if 400 <= status < 500 and status != 429:
        return Robots()
    if status != 200:
        return Robots(closed=f"robots.txt answers {status}")
    text = body[:MAX_ROBOTS_BYTES].decode("utf-8-sig", "replace")
    return Robots(Protego.parse(_NAMED.sub(lambda line: _line(line, agent), text)), agent)


_NAMED = re.compile(r"^([ \t]*user[ \t-]?agent[ \t]*:?[ \t]*)([^\r\n#]*)", re.IGNORECASE | re.MULTILINE)


def _line(line: re.Match[str], agent: str) -> str:
    """Give a line that names a crawler, its name by the RFC: the whole product token, whatever stands behind it."""
    name = re.split(r"[/\s(;,]", line[2].strip(), maxsplit=1)[0]
    if name not in ("*", ""):
        name = agent if name.casefold() == agent.casefold() else "somebody-else"
    return f"{line[1]}{name} "
