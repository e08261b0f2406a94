"""How the answer endpoint bears many readers, and what it costs beside a server that does nothing else.

    python benchmarks/serve.py [readers] [memory] [ratios] [--readers 200] [--seconds 60] [--answers 10000]

A site of 834 pages and 5,004 sections is made and built once, of 5,000 words as frequent and as rare as words are. A
model that needs no network opens two sections and says three paragraphs. The endpoint runs in a process of its own, as
`roaming serve` runs it.

readers  So many readers ask without a pause for so many seconds, each from an address of its own, and leave every tenth
         answer in the middle: once within the default limits, once with room for all. Every answer has to be whole,
         every refusal a 429 that says when to come again; anything else has failed.
memory   The resident size of the endpoint after each thousandth of so many answers, all to different questions.
ratios   Latencies as ratios to bare Starlette routes in another process that runs the same way. The two are asked in
         turn by one client on one connection, so that the machine's moods meet both; p50 and p99 of all rounds.
         first event   of a stream, while eight others are under way at the same pace; the bare route reads the body as
                       JSON and streams prepared bytes
         sections      `GET /v1/sections/{id}`, each time another; the bare route gives the same bytes, prepared
         sections again  the same sections a second time
         search        `GET /v1/search`; the bare route asks an FTS5 table with porter stemming for ids, snippets and
                       bm25. `search, no HTTP` is the same within one process
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable

from endpoint import clients, load, memory, ratios, servers
from endpoint.site import site

PROCESSES: dict[str, Callable[..., None]] = {
    "endpoint": servers.endpoint,
    "bare": servers.bare,
    "eight": lambda port: asyncio.run(clients.eight(int(port))),
}


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="readers, memory, ratios; all when left out")
    parser.add_argument("--readers", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60.0)
    parser.add_argument("--answers", type=int, default=10_000)
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        name, *given = options.run
        PROCESSES[name](*given)
        return 0
    with site() as folder:
        told = {
            "readers": lambda: load.readers(folder, options.readers, options.seconds),
            "memory": lambda: memory.memory(folder, options.answers),
            "ratios": lambda: ratios.ratios(folder),
        }
        for part in options.parts or told:
            for line in told[part]():
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
