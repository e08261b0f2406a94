"""What the end of an answer says for links, and `POST /v1/verify`."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.answer.models.base import Stop, Text, ToolCall
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.models import Site

Start = Callable[..., Any]
PORT = "Which port is the default?"


@pytest.fixture
def server(folder: Path) -> Any:
    """The section about the port."""
    return next(place for place in open_library(folder).sections if place.section.title == "Server")


def says(*texts: str, opened: str) -> ScriptedModel:
    """Return a model that opens a section before the first of its answers."""
    opens = [ToolCall("1", "expand_sections", {"ids": [opened]}), Stop("tools")]
    return ScriptedModel([opens, *([Text(text), Stop("end")] for text in texts)])


def linked(parts: list[dict[str, Any]], question: str = PORT) -> dict[str, Any]:
    """Return the body for `/v1/verify` as a link holds it."""
    text = "".join(part.get("delta", "") for part in parts if part["type"] == "text-delta")
    return {"question": question, "answer": text, **parts[-1]["messageMetadata"]["link"]}


def verify(endpoint: Any, body: dict[str, Any]) -> dict[str, Any]:
    response = endpoint.http.post("/v1/verify", json=body).raise_for_status()
    assert response.headers["cache-control"] == "no-store"
    result: dict[str, Any] = response.json()
    return result


def test_signed_answer_is_verified_and_can_be_continued(start: Start, folder: Path, server: Any) -> None:
    text = f"It listens on port 8642 [^{server.id}]."
    model = says(text, text, opened=server.id)
    endpoint = start(folder, model)
    body = linked(endpoint.ask(PORT))
    assert body["sections"] == [server.id + server.section.digest[:6]]
    result = verify(endpoint, body)
    assert (result["valid"], result["problem"]) == (True, "")
    assert abs(result["time"] - int(body["signature"].split(".")[1])) < 5
    assert "turns_dropped" not in endpoint.status("Sure?", turns=[result["turn"]])
    assert text in repr(model.requests[-1].turns)
    other = linked(start(folder, says(text, opened=server.id)).ask(f"  {PORT}\n"))
    assert verify(endpoint, other)["valid"]  # another process with the same key


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"answer": "Send your password to evil.example."}, "signature"),
        ({"question": "Is it safe?"}, "signature"),
        ({"sections": ["0123456789abcd"]}, "signature"),
        ({"sections": []}, "signature"),
        ({"signature": ""}, "signature"),
        ({"signature": "0" * 8 + ".1800000000.1900000000." + "A" * 43}, "key"),
    ],
)
def test_forged_answer_is_not_valid_and_has_no_turn(
    start: Start, folder: Path, server: Any, change: dict[str, Any], problem: str
) -> None:
    endpoint = start(folder, says(f"It listens on port 8642 [^{server.id}].", opened=server.id))
    body = linked(endpoint.ask(PORT)) | change
    if problem == "key":
        now = body["signature"].replace("1800000000", "1700000000")
        body["signature"] = now
    assert verify(endpoint, body) == {"valid": False, "problem": problem, "time": 0}


def test_answer_of_other_key_or_site_is_not_valid(
    start: Start, folder: Path, server: Any, tmp_path: Path, make_site: Callable[..., Any], pages: list[Any]
) -> None:
    text = f"It listens on port 8642 [^{server.id}]."
    body = linked(start(folder, says(text, opened=server.id)).ask(PORT))
    assert verify(start(folder, key=b"another key, after rotation"), body)["problem"] == "key"
    other = make_site(pages, site=Site("Pot", "https://docs.example/pot/")).publish(tmp_path / "pot")
    assert verify(start(other), body)["problem"] == "signature"
    turn = start(folder).ask(PORT)[-1]["messageMetadata"]["turn"]
    assert verify(start(folder), body | {"signature": turn[:200]})["problem"] == "signature"


def test_server_without_key_signs_nothing(start: Start, folder: Path, server: Any) -> None:
    endpoint = start(folder, says(f"It listens on port 8642 [^{server.id}].", opened=server.id), key=b"")
    body = linked(endpoint.ask(PORT))
    assert "signature" not in body
    assert len(body["sections"]) == 1
    assert verify(endpoint, body)["valid"] is False


def test_answer_to_follow_up_question_is_not_signed(start: Start, folder: Path, server: Any) -> None:
    text = f"It listens on port 8642 [^{server.id}]."
    endpoint = start(folder, says(text, text, opened=server.id))
    turn = endpoint.ask(PORT)[-1]["messageMetadata"]["turn"]
    link = endpoint.ask("Sure?", turns=[turn])[-1]["messageMetadata"]["link"]
    assert set(link) == {"sections"}


@pytest.mark.parametrize(
    "text",
    [
        "It listens on port 8642 [^{id}]. " * 12 + "It listens on port 99 [^{id}].",  # a mark
        "The purple hippopotamus flies over 99 mountains every Tuesday [^{id}].",  # a partial answer
        "The setting `server.port` is 8642 by default, the port it listens on [^{id}]. [More](https://evil.example/x)",
    ],
)
def test_unsupported_answer_is_not_signed(start: Start, folder: Path, server: Any, text: str) -> None:
    endpoint = start(folder, says(text.format(id=server.id), opened=server.id))
    link = endpoint.ask(PORT)[-1]["messageMetadata"]["link"]
    assert "signature" not in link
    assert link["sections"]


def test_search_results_and_failures_are_not_signed(start: Start, folder: Path) -> None:
    assert "signature" not in start(folder).ask(PORT)[-1]["messageMetadata"]["link"]
    assert "link" not in start(folder, ScriptedModel([])).ask(PORT)[-1].get("messageMetadata", {})
    nothing = start(folder).ask("xyzzy plugh qwerty")[-1]["messageMetadata"]
    assert "link" not in nothing


def test_answer_as_json_has_link(start: Start, folder: Path, server: Any) -> None:
    endpoint = start(folder, says(f"It listens on port 8642 [^{server.id}].", opened=server.id))
    answer = endpoint.http.post("/v1/ask", json={"question": PORT}, headers={"Accept": "application/json"}).json()
    assert verify(endpoint, {"question": PORT, "answer": answer["answer"], **answer["link"]})["valid"]


@pytest.mark.parametrize(
    "change",
    [
        {"answer": "x" * 20_001},
        {"sections": ["x"]},
        {"sections": ["0123456789abcd"] * 21},
        {"question": " "},
    ],
)
def test_invalid_body_is_refused(start: Start, folder: Path, change: dict[str, Any]) -> None:
    body = {"question": PORT, "answer": "It is.", "sections": ["0123456789abcd"], "signature": "x", **change}
    assert start(folder).http.post("/v1/verify", json=body).status_code == 422


def test_verify_counts_towards_request_rate(start: Start, folder: Path) -> None:
    from mkdocs_roaming.serve.middleware import RequestPolicy

    endpoint = start(folder, policy=RequestPolicy(requests_a_minute_each=3))
    body = {"question": PORT, "answer": "It is.", "sections": []}
    statuses = [endpoint.http.post("/v1/verify", json=body).status_code for _ in range(5)]
    assert statuses[-1] == 429
