"""Measure the answer endpoint under load, its memory, and its latency relative to bare routes.

    python benchmarks/serve.py [readers] [crowd] [cpu] [memory] [ratios] [--readers 200] [--seconds 60] [--answers 10000]
        [--minutes 20]

A site of 834 pages and 5,004 sections is generated and built once, from 5,000 words with a Zipf-like distribution. A
scripted model opens two sections and writes three paragraphs. The endpoint runs in its own process, as with `roaming
serve`.

readers  Clients send questions without pauses, each from its own address, and abort every tenth answer: once with the
         default limits, once without limits. Each answer has to be complete and each refusal a 429 with Retry-After;
         any other response is a failure.
crowd    200 readers at once receive a cached answer, beside 20 clients that never read theirs and 1,000 idle
         connections; a bare Starlette stream in another process in alternate rounds. Time until the answer is complete.
cpu      CPU time of the server for an answer without a model, for the cached answer of a model, and for a bare
         Starlette stream; the last two in alternate rounds.
memory   Resident size of the endpoint after each tenth of the answers, all to different questions. With `--minutes`,
         after each minute of mixed traffic: questions, follow-up questions, cached, aborted and offline answers,
         searches, sections, MCP and feedback.
ratios   Latencies relative to bare Starlette routes in another process of the same kind. One client requests both
         alternately on one connection, so that changes of the load affect both; p50 and p99 of all rounds.
         first event   of a stream, while eight others run at the same pace; the bare route parses the body as JSON
                       and streams prepared bytes
         sections      `GET /v1/sections/{id}`, another one each time; the bare route returns the same bytes, prepared
         repeated      the same sections a second time
         search        `GET /v1/search`; the bare route queries an FTS5 table with porter stemming for ids, snippets
                       and bm25; “search without HTTP” is the same within one process
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable

from endpoint import clients, cpu, crowd, load, memory, ratios, servers
from endpoint.site import build_site

PROCESSES: dict[str, Callable[..., None]] = {
    "endpoint": servers.run_endpoint,
    "bare": servers.run_bare,
    "stream_clients": lambda port: asyncio.run(clients.run_stream_clients(int(port))),
}


def main(arguments: list[str] | None = None) -> int:
    """Run from the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", help="Measurements: readers, crowd, cpu, memory, ratios (default: all).")
    parser.add_argument("--readers", type=int, default=200, help="Number of clients (default: 200).")
    parser.add_argument("--seconds", type=float, default=60.0, help="Duration of the load in seconds (default: 60).")
    parser.add_argument("--answers", type=int, default=10_000, help="Number of answers for memory (default: 10000).")
    parser.add_argument("--minutes", type=float, help="Measure memory over minutes of mixed traffic instead.")
    parser.add_argument("--run", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.run:
        name, *process_arguments = options.run
        PROCESSES[name](*process_arguments)
        return 0
    with build_site() as folder:
        parts = {
            "readers": lambda: load.measure_load(folder, options.readers, options.seconds),
            "crowd": lambda: crowd.measure_crowd(folder),
            "cpu": lambda: cpu.measure_cpu(folder),
            "memory": lambda: (
                memory.measure_soak(folder, options.minutes)
                if options.minutes
                else memory.measure_memory(folder, options.answers)
            ),
            "ratios": lambda: ratios.measure_ratios(folder),
        }
        for part in options.parts or parts:
            for line in parts[part]():
                print(line, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
