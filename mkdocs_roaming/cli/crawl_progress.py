"""Shows a crawl while it goes on: a bar on a terminal, a line now and then elsewhere, or JSON lines."""

from __future__ import annotations

import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import click

Tell = Callable[[str, dict[str, Any]], None]

_REDRAWN = 0.25
_LINES = 10.0
_LONG = 5.0
_WIDTH = 24


@contextmanager
def told(as_json: bool) -> Iterator[Tell]:
    """Give what shows events."""
    if as_json:
        yield _as_json
        return
    progress = Progress(bar=sys.stderr.isatty(), said=time.monotonic())
    try:
        yield progress.tell
    finally:
        progress.end()


def _as_json(name: str, data: dict[str, Any]) -> None:
    if name != "wait" or data["seconds"] >= _LONG:
        click.echo(json.dumps({"event": name, **data}, ensure_ascii=False))


@dataclass(slots=True)
class Progress:
    """What is known of a crawl. The bar is redrawn a few times a second; elsewhere a line is said every ten."""

    bar: bool
    said: float
    pages: int = 0
    skipped: int = 0
    known: int = 0
    waits: str = ""
    shown: int = 0

    def tell(self, name: str, data: dict[str, Any]) -> None:
        """Take note of an event, and show where the crawl stands if that is due."""
        now = time.monotonic()
        if name == "wait":
            seconds = data["seconds"]
            self.waits = f", waits {seconds:.0f} s for {data['host']}" if seconds >= 1.5 else ""
        elif name in ("found", "page", "skipped"):
            self.pages += name == "page"
            self.skipped += name == "skipped"
            self.known = max(self.known, data.get("known", data.get("pages", 0)), self.pages + self.skipped)
        else:
            return
        long = self.waits and name == "wait"
        if now - self.said >= (_REDRAWN if self.bar and not long else 0.0 if self.bar else _LINES):
            self.said = now
            self._show()

    def end(self) -> None:
        """Leave the terminal as it was found."""
        if self.shown:
            click.echo("\r" + " " * self.shown + "\r", err=True, nl=False)

    def _show(self) -> None:
        from mkdocs_roaming.terminal import clean

        done = self.pages + self.skipped
        skipped = f", {self.skipped} skipped" if self.skipped else ""
        line = clean(f"{done} of {self.known} pages{skipped}{self.waits}")
        if not self.bar:
            click.echo(f"Crawling: {line}", err=True)
            return
        full = _WIDTH * done // max(1, self.known)
        line = f"[{'#' * full}{'-' * (_WIDTH - full)}] {line}"[: shutil.get_terminal_size().columns - 1]
        click.echo(f"\r{line.ljust(self.shown)}", err=True, nl=False)
        self.shown = len(line)
