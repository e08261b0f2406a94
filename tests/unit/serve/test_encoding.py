"""The parts of a stream for each final state of an answer. UPDATE=1 writes the golden streams."""

from __future__ import annotations

import json
import os
import re
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.events import (
    CitationDropped,
    Event,
    Finished,
    OutlineRead,
    Reference,
    RoundStarted,
    SectionAlreadyOpen,
    SectionCited,
    SectionMissing,
    SectionOpened,
    SectionsDropped,
    SectionsFound,
    SupportChecked,
    TextReleased,
    TextWithheld,
    TokensUsed,
    ToolCalled,
    ToolCallRejected,
)
from mkdocs_roaming.answer.models.base import Usage
from mkdocs_roaming.answer.models.scripted import ScriptedModel, read_script
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.library.targets import library_from_markdown
from mkdocs_roaming.serve.conversation_token import SignedTurn, TokenSigner
from mkdocs_roaming.serve.deployments import Deployment, LocalizedSite, SiteWatcher
from mkdocs_roaming.serve.encoding import SSE_DONE, START, AnswerContext, Continuation, PartEncoder, encode_sse
from mkdocs_roaming.serve.schemas import Question
from mkdocs_roaming.serve.service import AnswerConfig, AnswerRequest, AnswerService

GOLDEN = Path(__file__).parents[2] / "golden"
CASES = sorted(path.stem for path in (GOLDEN / "wire").glob("*.yml"))
STATES = {"answered", "partial", "results", "not_found", "unusable", "refused", "budget", "error"}
SIGNER = TokenSigner(b"a key")
SITE = "https://kettle.example/\nKettle"

pytestmark = pytest.mark.filterwarnings("error")


LIBRARY = library_from_markdown(
    (GOLDEN / "answer/kettle.md").read_text("utf-8"), name="Kettle", url="https://kettle.example/"
)


def open_request(name: str, tmp_path: Path) -> AnswerRequest:
    """Return a request for the answer of a case."""
    case = yaml.safe_load((GOLDEN / "wire" / f"{name}.yml").read_text("utf-8"))
    (tmp_path / "script.json").write_text(json.dumps(case.get("replies", [])))
    watcher = SiteWatcher("kettle.md")
    watcher.current = Deployment(LIBRARY, Search(LIBRARY))
    budget = dict(case.get("budget", {}))
    if "prices" in budget:
        budget["prices"] = Prices(**budget["prices"])
    model = ScriptedModel(read_script(tmp_path / "script.json")) if "replies" in case else Offline()
    budget["whole_site_tokens"] = case.get("whole_site_tokens", 0)
    config = AnswerConfig(model, Budget(**budget))
    turns = tuple(
        SIGNER.sign(SignedTurn(**{**turn, "opened": tuple(turn["opened"])}), SITE) for turn in case.get("turns", [])
    )
    service = AnswerService(LocalizedSite(watcher, SiteWatcher), config, SIGNER)
    return service.open(Question(case["ask"], page=case.get("page", ""), turns=turns))


def collect_parts(request: AnswerRequest) -> list[dict[str, Any]]:
    async def collect() -> list[dict[str, Any]]:
        async with aclosing(request.parts()) as parts:
            return msgspec.to_builtins([part async for part in parts])

    return anyio.run(collect)


def encode_stream(parts: list[dict[str, Any]]) -> str:
    """Return the stream, with placeholders for values that differ between runs."""
    text = (b"".join(map(encode_sse, parts)) + SSE_DONE).decode("utf-8")
    text = re.sub(r'"turn":"[A-Za-z0-9_.-]+"', '"turn":"<signed>"', text)
    return re.sub(r'"digest":"sha256:[0-9a-f]{64}"', '"digest":"<digest>"', text)


def encode_all(events: list[Event], context: AnswerContext) -> list[dict[str, Any]]:
    encoder = PartEncoder(context)
    return [START, *(part for event in events for part in encoder.encode(event))]


@pytest.mark.parametrize("name", CASES)
def test_stream_of_each_final_state_matches_golden_file(name: str, tmp_path: Path) -> None:
    encoded = encode_stream(collect_parts(open_request(name, tmp_path)))
    golden = GOLDEN / "wire" / f"{name}.sse"
    if os.environ.get("UPDATE"):
        golden.write_text(encoded, "utf-8")
    assert encoded == golden.read_text("utf-8")


def test_golden_files_cover_every_final_state(tmp_path: Path) -> None:
    states = set()
    for name in CASES:
        parts = collect_parts(open_request(name, tmp_path))
        states.add(parts[-2 if name != "error" else -3]["data"]["state"])
    assert states == STATES


@pytest.mark.parametrize("name", CASES)
def test_stream_opens_and_closes_steps_and_texts_in_turn(name: str, tmp_path: Path) -> None:
    """No text outside of its start and end, no tool call outside of a step, each result in the step of its call."""
    assert_well_formed(collect_parts(open_request(name, tmp_path)))


SECTION = Reference("2ebf9271", "Server", ("Settings", "Server"), "https://kettle.example/", 75)
EVENTS = st.sampled_from(
    [
        OutlineRead("sha256:0", 11, 300),
        RoundStarted(1, 4),
        ToolCalled("a", "expand_sections", ("2ebf9271", "c85bed29", "nothing")),
        ToolCalled("a", "search_sections", (), "port"),
        ToolCalled("", "delete_site"),
        SectionsFound("a", "port", (SECTION,)),
        SectionOpened("a", SECTION, (SECTION,), 2, 3, 500),
        SectionAlreadyOpen("a", SECTION),
        SectionMissing("a", "nothing", (SECTION,)),
        ToolCallRejected("a", "wrong"),
        SectionsDropped((SECTION,)),
        TextReleased("It is 8642 [^2ebf9271]."),
        SectionCited(SECTION),
        CitationDropped("deadbeef"),
        TextWithheld(9),
        TokensUsed(Usage(1, 2, 3, 4)),
        SupportChecked(None, "no time was left"),
    ]
)


@given(st.lists(EVENTS, max_size=25), st.sampled_from(sorted(STATES)))
def test_encoder_is_well_formed_for_any_order_of_events(events: list[Event], state: Any) -> None:
    context = AnswerContext(LIBRARY.sections, lambda: Continuation(turn="signed"))
    parts = encode_all([*events, Finished(state, "scripted")], context)
    assert_well_formed(parts)
    calls = [part["toolCallId"] for part in parts if part["type"] == "tool-input-available"]
    assert len(calls) == len(set(calls))
    released = "".join(event.text for event in events if isinstance(event, TextReleased))
    assert "".join(part["delta"] for part in parts if part["type"] == "text-delta") == released


@pytest.mark.parametrize(("results", "state"), [([ToolCallRejected("a", "No room.")], "too_big"), ([], "open")])
def test_requested_section_that_was_not_opened_has_final_state(results: list[Event], state: str) -> None:
    """`too_big` if the call has a result without it, `open` if the call was never answered."""
    call = ToolCalled("a", "expand_sections", ("2ebf9271",))
    events = [RoundStarted(1, 4), call, *results, Finished("error", "scripted")]
    parts = encode_all(events, AnswerContext(LIBRARY.sections))
    assert [part["data"]["state"] for part in parts if part["type"] == "data-section"][-1] == state


def assert_well_formed(parts: list[dict[str, Any]]) -> None:
    step, text, waiting = False, "", set()
    for part in parts:
        kind = part["type"]
        if kind == "start-step":
            assert not step
            step = True
        elif kind == "finish-step":
            assert step
            assert not text
            assert not waiting
            step = False
        elif kind == "text-start":
            assert not text
            assert not step
            text = part["id"]
        elif kind in ("text-delta", "text-end"):
            assert part["id"] == text
            text = text if kind == "text-delta" else ""
        elif kind == "tool-input-available":
            assert step
            waiting.add(part["toolCallId"])
        elif kind == "tool-output-available":
            waiting.remove(part["toolCallId"])
    assert (step, text, waiting) == (False, "", set())
    assert [part["type"] for part in parts[:1] + parts[-1:]] == ["start", "finish"]
    assert [part["type"] for part in parts].count("data-status") == 1


@pytest.mark.parametrize("name", CASES)
def test_section_parts_have_titles_and_urls_of_the_manifest(name: str, tmp_path: Path) -> None:
    """The label of an unknown id is the id itself, never text of the model."""
    request = open_request(name, tmp_path)
    index = request.deployment.library.sections
    for part in collect_parts(request):
        if part["type"] == "data-section":
            ref, data = index.get(part["id"]), part["data"]
            assert data["state"] in ("open", "read", "cited", "missing", "too_big")
            assert data["title"] == (ref.section.title if ref else part["id"])
            assert data["url"] == (index.url(ref) if ref else "")
            assert (ref is None) == (data["state"] == "missing")


@pytest.mark.parametrize("name", CASES)
def test_complete_answer_has_content_of_stream(name: str, tmp_path: Path) -> None:
    parts = collect_parts(open_request(name, tmp_path))
    answer = msgspec.to_builtins(anyio.run(open_request(name, tmp_path).complete))
    by_type = {part["type"]: part for part in parts}
    assert answer["answer"] == "".join(part["delta"] for part in parts if part["type"] == "text-delta")
    assert [source["id"] for source in answer["sources"]] == [
        part["sourceId"] for part in parts if part["type"] == "source-url"
    ]
    assert answer["status"] == by_type["data-status"]["data"]
    assert answer["support"] == by_type.get("data-support", {"data": None})["data"]
    assert ("turn" in answer) == ("messageMetadata" in by_type["finish"])


def test_failed_stream_does_not_contain_the_cause(tmp_path: Path) -> None:
    """The cause may name servers and keys; clients get a sentence and a code."""
    text = encode_stream(collect_parts(open_request("error", tmp_path)))
    assert "script" not in text.replace('"model":"scripted"', "")
    assert '"code":"failed"' in text
    assert '{"type":"error","errorText":"The answer could not be finished.' in text
