"""Generated site of the endpoint benchmarks, with a Zipf-like distribution of words."""

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
def build_site() -> Iterator[Path]:
    """Generate and build the site; yield its folder."""
    with tempfile.TemporaryDirectory(prefix="roaming-serve-") as folder:
        write_project(Path(folder), PAGES, SECTIONS)
        rng = random.Random(7)
        for file in sorted(Path(folder, "docs").rglob("*.md")):
            file.write_text(_PLACEHOLDER.sub(lambda _: random_word(rng), file.read_text("utf-8")), "utf-8")
        command = [sys.executable, "-m", "mkdocs", "build", "-q", "-f", "roaming.yml", "-d", "built"]
        environment = {"NO_MKDOCS_2_WARNING": "1", "DISABLE_MKDOCS_2_WARNING": "true"}
        subprocess.run(command, cwd=folder, env={**os.environ, **environment}, check=True)
        yield Path(folder) / "built"


def random_word(rng: random.Random, least_common: int = 5_000, most_common: int = 0) -> str:
    """Return a word of syllables; the n-th word is about n times as rare as the first.

    `most_common` and `least_common` limit the ranks of the words.
    """
    rank = min(int((least_common - most_common + 1) ** rng.random()) - 1 + most_common, least_common)
    syllables = "ka", "ri", "to", "ne", "lu", "mo", "se", "vi", "da", "pu"
    return "".join(syllables[int(digit)] for digit in f"{rank * 7919 % 10_007:04}")


def open_built_library(folder: Path) -> Library:
    """Open the built site."""
    from mkdocs_roaming.library.targets import open_library

    return open_library(folder)


_PLACEHOLDER = re.compile(rf"\b(?:{'|'.join(WORDS)})\b")
