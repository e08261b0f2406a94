"""How long does search take beside one bare FTS5 query over the same sections?

    python benchmarks/search_speed.py [SITE_DIR] [--rounds 600]

Without a site, one of 834 pages and 5,004 sections is made and built, the one that `serve.py` asks. The bare table has
porter stemming and is asked for ids, snippets and bm25 of the five best. Both are asked the same questions in turn, the
first twentieth for nothing: words as frequent and as rare as words are; of a given site, the words of its own links.
`index` is what making search's index takes, beside filling the bare table, and what both add to the resident size.
"""

from __future__ import annotations

import argparse
import random
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from endpoint.figures import at
from endpoint.servers import Table
from endpoint.site import library_of, one_of, site
from search_quality import link_questions

from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search

SHOWN = 5


def measure(folder: Path, questions: Callable[[Library], Sequence[str]]) -> str:
    """Give what both take, as ratios."""
    library = library_of(folder)
    asked = questions(library)
    for place in library.sections:
        library.text(place)
    search = Search(library)
    ours, our_size = _cost(lambda: search.find("warm"))
    made: list[Table] = []
    theirs, their_size = _cost(lambda: made.append(Table(folder)))
    took: dict[int, list[float]] = {0: [], 1: []}
    works: tuple[Callable[[str], Any], ...] = (lambda words: search.find(words, limit=SHOWN), made[0].find)
    for number, words in enumerate(asked):
        for which in (0, 1) if number % 2 else (1, 0):
            began = time.perf_counter()
            works[which](words)
            if number >= len(asked) // 20:
                took[which].append(time.perf_counter() - began)
    mine, bare = sorted(took[0]), sorted(took[1])
    half, most = (at(mine, share) / at(bare, share) for share in (0.5, 0.99))
    return (
        f"{len(library.sections)} sections, {len(mine)} questions: p50 {half:.2f}, p99 {most:.2f} times the bare query "
        f"({at(mine, 0.5) * 1000:.2f} and {at(bare, 0.5) * 1000:.2f} ms, "
        f"{at(mine, 0.99) * 1000:.2f} and {at(bare, 0.99) * 1000:.2f} ms); "
        f"index {ours:.2f} s and {our_size:.0f} MB, bare table {theirs:.2f} s and {their_size:.0f} MB"
    )


def _cost(work: Callable[[], Any]) -> tuple[float, float]:
    """Give the CPU seconds of some work, and the megabytes that the process is larger afterwards."""
    size, began = _resident(), time.process_time()
    work()
    return time.process_time() - began, _resident() - size


def _resident() -> float:
    return int(Path("/proc/self/status").read_text().split("VmRSS:")[1].split()[0]) / 1024


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("site", nargs="?", type=Path, help="a published site's folder")
    parser.add_argument("--rounds", type=int, default=600)
    options = parser.parse_args(arguments)
    draw = random.Random(5)
    words = [" ".join(one_of(draw, commonest=common) for common in (0, 20, 200)) for _ in range(options.rounds)]
    with nullcontext(options.site) if options.site else site() as folder:
        print(
            measure(
                folder,
                lambda library: (
                    [each.ask for each in link_questions(library, options.rounds)] if options.site else words
                ),
            )
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
