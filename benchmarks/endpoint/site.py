"""The site that is served: made, of words as frequent and as rare as words are, and built once."""

from __future__ import annotations

import os
import random
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from scale import WORDS, write_project

if TYPE_CHECKING:
    from mkdocs_roaming.library.library import Library

PAGES, SECTIONS = 834, 6


@contextmanager
def site() -> Iterator[Path]:
    """Build the site."""
    with tempfile.TemporaryDirectory(prefix="roaming-serve-") as folder:
        write_project(Path(folder), PAGES, SECTIONS)
        draw = random.Random(7)
        for file in sorted(Path(folder, "docs").rglob("*.md")):
            file.write_text(_DULL.sub(lambda found: one_of(draw), file.read_text("utf-8")), "utf-8")
        command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", "roaming.yml", "-d", "built"]
        quiet = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
        subprocess.run(command, cwd=folder, env={**os.environ, **quiet}, check=True)
        yield Path(folder) / "built"


def one_of(draw: random.Random, rarest: int = 5_000, commonest: int = 0) -> str:
    """Give a word, made of syllables; the n-th is about n times as rare as the first."""
    rank = min(int((rarest - commonest + 1) ** draw.random()) - 1 + commonest, rarest)
    syllables = "ka", "ri", "to", "ne", "lu", "mo", "se", "vi", "da", "pu"
    return "".join(syllables[int(digit)] for digit in f"{rank * 7919 % 10_007:04}")


def library_of(folder: Path) -> Library:
    """Open what was built."""
    from mkdocs_roaming.library.library import open_library

    return open_library(folder)


_DULL = re.compile(rf"\b(?:{'|'.join(WORDS)})\b")
