"""Whatever a client sends, nothing comes back but what the endpoint's own description says."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx2
import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks

from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.openapi import OPERATIONS, PROBLEM

if TYPE_CHECKING:
    from .conftest import Endpoint, Start
else:
    Endpoint, Start = Any, Callable[..., Any]

AS_DESCRIBED = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
WELL_ASKED = [*AS_DESCRIBED, checks.positive_data_acceptance]
EXAMPLES = 30
TOO_OFTEN = RequestPolicy(requests_a_minute=1_000_000, requests_a_minute_each=1_000_000)


FIELDS = (
    "question",
    "page",
    "lang",
    "turns",
    "messages",
    "role",
    "parts",
    "type",
    "text",
    "metadata",
    "turn",
    "helpful",
)

bounded = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def endpoint(start: Start, folder: Path, tmp_path: Path) -> Endpoint:
    """Give an endpoint that keeps opinions, so that all it does can be asked of it."""
    return start(folder, policy=TOO_OFTEN, feedback_log=tmp_path / "feedback.jsonl")


RIGHT = [(operation.name, GenerationMode.POSITIVE) for operation in OPERATIONS]
WRONG = [
    (operation.name, GenerationMode.NEGATIVE)
    for operation in OPERATIONS
    if operation.body or any(f"{{{one.name}}}" not in operation.path for one in operation.parameters)
]
"""What can be asked wrongly: any text is right in a path, and where nothing is given nothing is wrong."""


@pytest.mark.parametrize(("name", "mode"), RIGHT + WRONG, ids=lambda value: getattr(value, "value", value))
def test_every_answer_is_as_described(endpoint: Endpoint, name: str, mode: GenerationMode) -> None:
    """Statuses, types, headers and bodies, for requests that fit the description and for such that do not."""
    schema = schemathesis.openapi.from_url(f"{endpoint.url}/openapi.json")
    label = next(f"{operation.method} {operation.path}" for operation in OPERATIONS if operation.name == name)
    operation = schema.find_operation_by_label(label)
    assert operation is not None

    @bounded
    @given(case=operation.as_strategy(mode))
    def ask(case: Case) -> None:
        answer = case.call()
        # Which messages of a conversation are the reader's own words, no schema can tell.
        chat = isinstance(case.body, dict) and "question" not in case.body and name == "ask"
        case.validate_response(answer, checks=AS_DESCRIBED if chat else WELL_ASKED)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == [PROBLEM]
            assert answer.json()["status"] == answer.status_code

    ask()


@pytest.mark.parametrize("path", ["/v1/ask", "/v1/feedback"])
def test_no_body_is_too_strange(endpoint: Endpoint, path: str) -> None:
    """Bytes that are no text, texts that are no JSON, JSON of any shape: refused in words, or answered."""
    anything = st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=20) | st.integers(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6),
        max_leaves=12,
    )

    @bounded
    @given(st.binary(max_size=200) | anything.map(lambda value: json.dumps(value).encode()))
    def ask(body: bytes) -> None:
        answer = endpoint.http.post(path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (200, 204, 400, 422)
        if answer.status_code >= 400:
            assert (answer.headers["content-type"], answer.json()["status"]) == (PROBLEM, answer.status_code)

    ask()


@pytest.mark.parametrize("path", ["/v1/ask", "/v1/feedback"])
def test_a_body_of_a_megabyte_is_refused(endpoint: Endpoint, path: str) -> None:
    """However it is sent: with its length, or piece by piece."""
    body = json.dumps({"question": "x" * 2**20}).encode()
    for content in (body, (body[at : at + 4_096] for at in range(0, len(body), 4_096))):
        try:
            answer = endpoint.http.post(path, content=content, headers={"Content-Type": "application/json"})
        except httpx2.WriteError:
            continue  # the server hung up before it was all sent
        assert (answer.status_code, answer.json()["code"]) == (413, "size")
    assert endpoint.http.get("/healthz").status_code == 200


def test_no_address_takes_another_method(endpoint: Endpoint) -> None:
    """405 with what is taken, as a problem, wherever something is."""
    taken = {operation.path: operation.method for operation in OPERATIONS}
    for path, method in taken.items():
        address = path.replace("{id}", "0a0a0a0a").replace("{language}", "de")
        for other in {"GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "BREW"} - {method}:
            answer = endpoint.http.request(other, address)
            assert (address, other, answer.status_code) == (address, other, 405)
            assert method in answer.headers["allow"].replace(" ", "").split(",")
            assert answer.headers["content-type"] == PROBLEM


def test_old_and_forged_turns_are_forgotten(start: Start, folder: Path, until: Callable[..., Any]) -> None:
    """A follow-up is answered all the same, and told that what it referred to is not known."""
    endpoint = start(folder, token_seconds=1)
    (turn,) = [part["messageMetadata"]["turn"] for part in endpoint.ask("Which port?") if part["type"] == "finish"]
    payload, mark = turn.split(".")
    forged = f"{payload[:-4]}{'AAAA' if payload[-4:] != 'AAAA' else 'BBBB'}.{mark}"
    assert endpoint.status("And then?", turns=[forged])["turns_dropped"] == 1
    until(lambda: endpoint.status("And then?", turns=[turn]).get("turns_dropped") == 1)
