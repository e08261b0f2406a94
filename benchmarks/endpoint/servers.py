"""Server processes: the endpoint as with `roaming serve`, and bare Starlette routes."""

from __future__ import annotations

import asyncio
import http.client
import re
import sqlite3
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any

from crawl_hosts import find_free_port

from mkdocs_roaming.library.targets import open_library

SCRIPT = Path(__file__).parents[1] / "serve.py"
PIECES = 6
"""Text parts per paragraph."""


@contextmanager
def start_server(name: str, *arguments: object) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """Run a server until the context exits; yield its port and its process."""
    port = find_free_port()
    with subprocess.Popen([sys.executable, SCRIPT, "--run", name, str(port), *map(str, arguments)]) as process:
        try:
            for _ in range(600):
                connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
                with closing(connection), suppress(OSError):
                    connection.request("GET", "/healthz")
                    if connection.getresponse().status == 200:
                        break
                time.sleep(0.1)
            yield port, process
        finally:
            process.terminate()


def run_endpoint(port: str, folder: str, pace: str, model: str = "scripted") -> None:
    """Run the endpoint without limits. `model` is `scripted` or `offline`."""
    from mkdocs_roaming.answer.budget import Budget
    from mkdocs_roaming.answer.models.base import create_model
    from mkdocs_roaming.serve.app import AppConfig, ServeTable, create_app
    from mkdocs_roaming.serve.middleware import RequestPolicy
    from mkdocs_roaming.serve.quotas import AnswerQuota
    from mkdocs_roaming.serve.server import bind_socket, freeze_objects, run_server
    from mkdocs_roaming.serve.service import AnswerConfig

    unlimited = 10**9
    answers = create_model(model, environ={}) if model == "offline" else ScriptedModel(Path(folder), float(pace))
    answer_config = AnswerConfig(answers, Budget(whole_site_tokens=0))
    config = AppConfig(
        folder,
        answer_config,
        ServeTable(feedback_log=str(Path(folder).parent / "feedback.jsonl"), metrics="off"),
        quota=AnswerQuota(*[unlimited] * 7),
        policy=RequestPolicy(proxies=1, requests_a_minute=unlimited, requests_a_minute_each=unlimited),
        on_change=freeze_objects,
    )
    run_server(create_app(config), bind_socket("127.0.0.1", int(port)))


def run_bare(port: str, folder: str, pace: str) -> None:
    """Run routes that return prepared bytes, equal to those of the endpoint for sections, or query FTS5."""
    import uvicorn
    from anyio import to_thread
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse, Response, StreamingResponse
    from starlette.routing import Route

    from mkdocs_roaming._json import encode_json
    from mkdocs_roaming.library.search import Search
    from mkdocs_roaming.serve.content import build_section
    from mkdocs_roaming.serve.deployments import Deployment
    from mkdocs_roaming.serve.server import bind_socket

    library = open_library(folder)
    deployment = Deployment(library, Search(library))
    sections = {
        section_ref.id: encode_json(build_section(deployment, section_ref.id).data) for section_ref in library.sections
    }
    table = SearchTable(Path(folder))

    async def stream(request: Request) -> Response:
        await request.json()

        async def generate_events() -> AsyncIterator[bytes]:
            yield b'data: {"type":"start"}\n\n'
            for _ in range(PIECES * 3):
                await asyncio.sleep(float(pace))
                yield b'data: {"type":"text-delta","id":"text-1","delta":"word "}\n\n'

        return StreamingResponse(generate_events(), media_type="text/event-stream")

    async def section(request: Request) -> Response:
        return Response(sections[request.path_params["id"]], media_type="application/json")

    async def search(request: Request) -> Response:
        words = request.query_params["q"]
        return JSONResponse(await to_thread.run_sync(lambda: table.find(words)))

    async def health(request: Request) -> Response:
        return Response(b"ok")

    routes = [
        Route("/v1/ask", stream, methods=["POST"]),
        Route("/v1/sections/{id}", section),
        Route("/v1/search", search),
        Route("/healthz", health),
    ]
    config = uvicorn.Config(Starlette(routes=routes), log_config=None, access_log=False, server_header=False)
    uvicorn.Server(config).run(sockets=[bind_socket("127.0.0.1", int(port))])


class ScriptedModel:
    """Model that opens two sections and streams three paragraphs."""

    name = "scripted"

    def __init__(self, folder: Path, pace: float) -> None:
        self._ids = [section_ref.id for section_ref in open_library(folder).sections]
        self._pace = pace
        self._answers = 0

    async def reply(self, request: Any) -> AsyncIterator[Any]:
        """Yield the parts of a reply."""
        from mkdocs_roaming.answer.models.base import AssistantTurn, Citation, Text, ToolCall, Usage

        turns = [turn for turn in request.turns if isinstance(turn, AssistantTurn)]
        calls = [call for turn in turns for call in turn.calls if call.name == "expand_sections"]
        if not calls:
            self._answers += 1
            positions = self._answers % len(self._ids), self._answers * 7 % len(self._ids)
            yield ToolCall("call", "expand_sections", {"ids": [self._ids[position] for position in positions]})
            return
        arguments: Any = calls[-1].arguments
        first, second = arguments["ids"][0], arguments["ids"][-1]  # a follow-up question opens earlier sections again
        for id_ in (first, second, first):
            for _ in range(PIECES):
                yield Text("this part is in the section, and ")
                await asyncio.sleep(self._pace)
            yield Text("that is all")
            yield Citation(id_)
            yield Text(".\n\n")
        yield Usage(input=900, output=120)


class SearchTable:
    """Plain FTS5 table of the section texts."""

    def __init__(self, folder: Path) -> None:
        self._table = sqlite3.connect(":memory:", check_same_thread=False)
        self._table.execute("create virtual table s using fts5(id unindexed, title, text, tokenize='porter unicode61')")
        library = open_library(folder)
        rows = (
            (section_ref.id, section_ref.section.title, library.text(section_ref)) for section_ref in library.sections
        )
        self._table.executemany("insert into s values (?, ?, ?)", rows)

    def find(self, words: str) -> list[dict[str, Any]]:
        """Return the five best sections."""
        expression = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", words))
        rows = self._table.execute(
            "select id, title, snippet(s, 2, '', '', '…', 32), bm25(s) from s where s match ? order by bm25(s) limit 5",
            (expression,),
        )
        return [{"id": id_, "title": title, "snippet": text, "score": score} for id_, title, text, score in rows]
