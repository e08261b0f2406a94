"""What goes over the wire for each way in which an answer ends. UPDATE_WIRE=1 writes the golden streams."""

from __future__ import annotations

import json
import os
import re
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
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
from mkdocs_roaming.library.library import library_from_markdown
from mkdocs_roaming.library.search import Search
from mkdocs_roaming.serve.conversation_token import TokenSigner, Turn
from mkdocs_roaming.serve.deployments import Deployment, LocalizedSite, SiteWatcher
from mkdocs_roaming.serve.encoding import SSE_DONE, AnswerContext, encode_sse
from mkdocs_roaming.serve.encoding import encode_events as parts_of
from mkdocs_roaming.serve.requests import Question
from mkdocs_roaming.serve.service import AnswerConfig, AnswerRequest, AnswerService

GOLDEN = Path(__file__).parents[2] / "golden"
CASES = sorted(path.stem for path in (GOLDEN / "wire").glob("*.yml"))
STATES = {"answered", "partial", "not_found", "refused", "budget", "error"}
SIGNER = TokenSigner(b"a key")

pytestmark = pytest.mark.filterwarnings("error")


def hearing(name: str, tmp_path: Path) -> AnswerRequest:
    case = yaml.safe_load((GOLDEN / "wire" / f"{name}.yml").read_text("utf-8"))
    (tmp_path / "script.json").write_text(json.dumps(case["replies"]))
    library = library_from_markdown(
        (GOLDEN / "answer/kettle.md").read_text("utf-8"), name="Kettle", url="https://kettle.example/"
    )
    deployments = SiteWatcher("kettle.md")
    deployments.current = Deployment(library, Search(library))
    budget = dict(case.get("budget", {}))
    if "prices" in budget:
        budget["prices"] = Prices(**budget["prices"])
    way = AnswerConfig(
        ScriptedModel(read_script(tmp_path / "script.json")), Budget(**budget), case.get("whole_site_tokens", 0)
    )
    turns = tuple(SIGNER.sign(Turn(**{**turn, "opened": tuple(turn["opened"])})) for turn in case.get("turns", []))
    return AnswerService(LocalizedSite(deployments, SiteWatcher), way, SIGNER).hear(
        Question(case["ask"], case.get("page", ""), turns=turns)
    )


def parts(heard: AnswerRequest) -> list[dict[str, Any]]:
    async def listen() -> list[dict[str, Any]]:
        async with aclosing(heard.parts()) as told:
            return [part async for part in told]

    return anyio.run(listen)


def stream(told: list[dict[str, Any]]) -> str:
    """Give a stream as it goes over the wire, without what differs from time to time."""
    text = (b"".join(map(encode_sse, told)) + SSE_DONE).decode("utf-8")
    text = re.sub(r'"turn":"[A-Za-z0-9_.-]+"', '"turn":"<signed>"', text)
    return re.sub(r'"digest":"sha256:[0-9a-f]{64}"', '"digest":"<digest>"', text)


@pytest.mark.parametrize("name", CASES)
def test_each_end_of_an_answer_has_its_parts(name: str, tmp_path: Path) -> None:
    """The same answer gives the same bytes, and these."""
    found = stream(parts(hearing(name, tmp_path)))
    golden = GOLDEN / "wire" / f"{name}.sse"
    if os.environ.get("UPDATE_WIRE"):
        golden.write_text(found, "utf-8")
    assert found == golden.read_text("utf-8")


def test_there_is_a_stream_for_every_end(tmp_path: Path) -> None:
    """No end of an answer is left unshown."""
    seen = {parts(hearing(name, tmp_path))[-2 if name != "error" else -3]["data"]["state"] for name in CASES}
    assert seen == STATES


@pytest.mark.parametrize("name", CASES)
def test_steps_and_texts_are_begun_and_ended_in_turn(name: str, tmp_path: Path) -> None:
    """No text outside of its start and end, no tool call outside of a step, each call answered in the same step."""
    well_formed(parts(hearing(name, tmp_path)))


SECTION = Reference("2ebf9271", "Server", ("Settings", "Server"), "https://kettle.example/", 75)
HAPPENINGS = st.sampled_from(
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


@given(st.lists(HAPPENINGS, max_size=25), st.sampled_from(sorted(STATES)))
def test_whatever_happens_the_stream_is_well_formed(happened: list[Event], state: Any) -> None:
    """In whatever order a model calls, speaks and fails, every reader can follow."""

    async def events() -> AsyncGenerator[Event, None]:
        for event in happened:
            yield event
        yield Finished(state, "scripted")

    async def listen() -> list[dict[str, Any]]:
        around = AnswerContext(lambda id_: SECTION if id_ == SECTION.id else None, lambda: "signed")
        return [part async for part in parts_of(events(), around)]

    told = anyio.run(listen)
    well_formed(told)
    calls = [part["toolCallId"] for part in told if part["type"] == "tool-input-available"]
    assert len(calls) == len(set(calls))
    released = "".join(event.text for event in happened if isinstance(event, TextReleased))
    assert "".join(part["delta"] for part in told if part["type"] == "text-delta") == released


def test_no_section_is_left_opening_that_was_not_opened() -> None:
    """One for which there was no room is called too big; one whose call was never answered stays as it was."""
    called = ToolCalled("a", "expand_sections", ("2ebf9271",))
    for answered, state in (([ToolCallRejected("a", "No room.")], "too_big"), ([], "open")):
        stream = [RoundStarted(1, 4), called, *answered, Finished("error", "scripted")]

        async def listen(happened: list[Event] = stream) -> list[dict[str, Any]]:
            async def events() -> AsyncGenerator[Event, None]:
                for event in happened:
                    yield event

            return [part async for part in parts_of(events(), AnswerContext(lambda id_: SECTION, lambda: ""))]

        states = [part["data"]["state"] for part in anyio.run(listen) if part["type"] == "data-section"]
        assert states[-1] == state


def well_formed(told: list[dict[str, Any]]) -> None:
    step, text, waiting = False, "", set()
    for part in told:
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
    assert [part["type"] for part in told[:1] + told[-1:]] == ["start", "finish"]
    assert [part["type"] for part in told].count("data-status") == 1


@pytest.mark.parametrize("name", CASES)
def test_titles_and_addresses_are_the_manifests(name: str, tmp_path: Path) -> None:
    """A trail's label is never empty, and never a model's invention: an id that does not exist is shown as it is."""
    heard = hearing(name, tmp_path)
    places = heard.deployment.library.sections
    for part in parts(heard):
        if part["type"] == "data-section":
            place, data = places.get(part["id"]), part["data"]
            assert data["state"] in ("open", "read", "cited", "missing", "too_big")
            assert data["title"] == (place.section.title if place else part["id"])
            assert data["url"] == (places.url(place) if place else "")
            assert (place is None) == (data["state"] == "missing")


@pytest.mark.parametrize("name", CASES)
def test_one_object_says_what_the_stream_says(name: str, tmp_path: Path) -> None:
    """Who asks for JSON gets the same text, sources, support and end."""
    told = parts(hearing(name, tmp_path))
    whole = anyio.run(hearing(name, tmp_path).whole)
    by_type = {part["type"]: part for part in told}
    assert whole["answer"] == "".join(part["delta"] for part in told if part["type"] == "text-delta")
    assert [one["id"] for one in whole["sources"]] == [p["sourceId"] for p in told if p["type"] == "source-url"]
    assert whole["status"] == by_type["data-status"]["data"]
    assert whole["support"] == by_type.get("data-support", {"data": None})["data"]
    assert ("turn" in whole) == ("messageMetadata" in by_type["finish"])


def test_no_failure_is_explained_to_readers(tmp_path: Path) -> None:
    """Why a model failed may name servers and keys: readers get a sentence and a code, the owner's log the reason."""
    text = stream(parts(hearing("error", tmp_path)))
    assert "script" not in text.replace('"model":"scripted"', "")
    assert '"code":"failed"' in text
    assert '{"type":"error","errorText":"The answer could not be finished.' in text
