"""Measure the CPU time and the latency of the answer endpoint relative to bare routes.

    python benchmarks/serve.py cpu ratios

A site of 834 pages and 5,004 sections is generated once, from 5,000 words with a Zipf-like distribution. A scripted model
opens two sections and writes three paragraphs. The endpoint runs in its own process, as with `roaming serve`, beside bare
Starlette routes in another.

cpu      CPU time of the server for an answer without a model, for the cached answer of a model, and for a bare
         Starlette stream; the last two in alternate rounds.
ratios   Latencies relative to the bare routes. One client requests both alternately on one connection, so that changes
         of the load affect both; p50 of all rounds.
         first event   of a stream, while eight others run at the same pace; the bare route parses the body as JSON
                       and streams prepared bytes
         sections      `GET /v1/sections/{id}`, another one each time; the bare route returns the same bytes, prepared
         search        `GET /v1/search`; the bare route queries an FTS5 table with porter stemming for ids, snippets
                       and bm25
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable

from endpoint import clients, cpu, ratios, servers
from endpoint.site import build_site

PROCESSES: dict[str, Callable[..., None]] = {
    "endpoint": servers.run_endpoint,
    "bare": servers.run_bare,
    "stream_clients": lambda port: asyncio.run(clients.run_stream_clients(int(port))),
}

PARTS = {"cpu": cpu.measure_cpu, "ratios": ratios.measure_ratios}
"""The measurements by name; each yields the lines of its table."""


def main() -> None:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help=f"Measurements: {', '.join(PARTS)}.")
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.run:
        name, *process_arguments = options.run
        PROCESSES[name](*process_arguments)
        return
    with build_site() as folder:
        for part in options.parts:
            for line in PARTS[part](folder):
                print(line, flush=True)


if __name__ == "__main__":
    main()
