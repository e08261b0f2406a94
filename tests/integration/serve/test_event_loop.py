"""The event loop stays free while clients, pages and models send what is slow to process."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from serving import process

from mkdocs_roaming.answer.loop import answer
from mkdocs_roaming.answer.models.base import Part, Stop, Text, ToolCall
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.navigator import Navigator

pytestmark = pytest.mark.slow

PIECES = (
    "[^",
    "<",
    "`",
    "``` ",
    "[x](",
    "[x](http://a.example/ ",
    "http://a.example/",
    "\n",
    "&#",
    "<think>",
    "| a ",
    "[^0a0a0a0a]",
    "```sh\ncurl http://a.example\n```\n",
)
MODEL_CHARS, PAGE_CHARS = 10_000, 40_000


def repeat(piece: str, size: int) -> str:
    return piece * (size // len(piece))


@pytest.fixture
def hostile_pages() -> list[tuple[str, str]]:
    """Return pages whose text is slow to process."""
    texts = [f"# Port {at}\n\n{repeat(piece, PAGE_CHARS)}\n" for at, piece in enumerate(PIECES)]
    return [("", "# Start\n\nThe default port is 8642.\n"), *((f"p{at}/", text) for at, text in enumerate(texts))]


@pytest.mark.parametrize("size", [20, MODEL_CHARS])
@pytest.mark.parametrize("piece", PIECES)
def test_text_of_model_and_pages_is_processed_in_other_threads(
    make_site: Callable[..., Any], hostile_pages: list[tuple[str, str]], piece: str, size: int
) -> None:
    library = make_site(hostile_pages).library()
    ids = [section.id for section in library.sections]
    text = repeat(piece, MODEL_CHARS)
    chunks = [Text(text[at : at + size]) for at in range(0, len(text), size)]

    async def measure(*reply: Part) -> float:
        """Return the CPU time of this thread, which is that of the event loop, for an answer."""
        calls = [ToolCall("c", "expand_sections", {"ids": ids[:6]}), Stop("tools")]
        model = ScriptedModel([calls, [*reply, Stop("end")]])
        began = time.thread_time()
        async with aclosing(answer("Which port?", Navigator(library), model, whole_site_tokens=0)) as events:
            async for _ in events:
                pass
        return time.thread_time() - began

    async def compare() -> tuple[float, float]:
        usual = min([await measure(*(Text("word " * 4) for _ in chunks)) for _ in range(2)])
        hostile = await measure(*chunks)
        for _ in range(2):  # on a loaded machine the same work takes up to three times the CPU time
            hostile = hostile if hostile < usual + 0.06 else min(hostile, await measure(*chunks))
        return usual, hostile

    usual, hostile = anyio.run(compare)
    assert hostile < usual + 0.06


def test_health_is_answered_during_worst_cases(
    tmp_path: Path, make_site: Callable[..., Any], hostile_pages: list[tuple[str, str]]
) -> None:
    folder = make_site(hostile_pages).publish(tmp_path / "site")
    (tmp_path / "roaming.toml").write_text(
        '[serve]\nquestion_log = "q.jsonl"\nproxies = 1\n[limits]\n'
        + "".join(f"{name} = 1000000\n" for name in ("requests_a_minute", "requests_a_minute_each"))
        + "".join(f"free_answers_a_minute{each} = 1000000\n" for each in ("", "_each"))
    )
    questions = ["password.", "'_\n_`", "a.", "api_:", ":", "port ", "\u00e4", *PIECES]
    bodies = [json.dumps({"question": repeat(piece, 4_000)}).encode() for piece in questions]
    bodies += [
        b'{"messages":[' + b"1," * 490_000 + b"1]}",
        b'{"messages":[' + b'{"role":""},' * 28_000 + b'{"role":"user"}]}',
        b'{"question":"a","turns":[' + b"1," * 60_000 + b"1]}",
    ]
    headers = {"Content-Type": "application/json", "Accept": "a/b," * 3_000, "If-None-Match": "a," * 500}
    end = time.monotonic() + 20
    statuses: set[int] = set()

    def attack(number: int, url: str) -> None:
        client = {**headers, "X-Forwarded-For": f"10.0.0.{number}"}
        with httpx2.Client(base_url=url, headers=client, timeout=60) as http:
            at = number
            while time.monotonic() < end:
                statuses.add(http.post("/v1/ask", content=bodies[at % len(bodies)]).status_code)
                at += 1

    times = list[float]()
    with process(folder, "--config", "roaming.toml", "--metrics", "off", cwd=tmp_path) as (_, url):
        threads = [threading.Thread(target=attack, args=(number, url)) for number in range(24)]
        for thread in threads:
            thread.start()
        with httpx2.Client(base_url=url, timeout=60) as http:
            while time.monotonic() < end:
                began = time.perf_counter()
                assert http.get("/healthz").status_code == 200
                times.append(time.perf_counter() - began)
                time.sleep(0.01)
        for thread in threads:
            thread.join()
    times.sort()
    assert max(statuses) < 500
    assert times[len(times) // 2] < 0.1, times[-5:]
    assert times[len(times) * 99 // 100] < 0.4, times[-5:]
