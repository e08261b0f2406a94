"""Responses to random requests match the OpenAPI description."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import Case, GenerationMode
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi import checks
from serving import load_cases

from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.schemas import OPERATIONS, PROBLEM

if TYPE_CHECKING:
    from .conftest import Endpoint, Start
else:
    Endpoint, Start = Any, Callable[..., Any]

pytestmark = pytest.mark.slow

CHECKS = [
    not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_headers_conformance,
    checks.response_schema_conformance,
]
POSITIVE_CHECKS = [*CHECKS, checks.positive_data_acceptance]
EXAMPLES = 30
NO_RATE_LIMIT = RequestPolicy(requests_a_minute=1_000_000, requests_a_minute_each=1_000_000)


FIELDS = load_cases("names of fields")

fuzz_settings = settings(
    max_examples=EXAMPLES,
    derandomize=True,
    database=None,
    phases=[Phase.explicit, Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture
def endpoint(start: Start, folder: Path, tmp_path: Path) -> Endpoint:
    """Return an endpoint that accepts feedback, so that every operation can be tested."""
    return start(folder, policy=NO_RATE_LIMIT, feedback_log=tmp_path / "feedback.jsonl")


POSITIVE = [(operation.name, GenerationMode.POSITIVE) for operation in OPERATIONS]
NEGATIVE = [
    (operation.name, GenerationMode.NEGATIVE)
    for operation in OPERATIONS
    if operation.body or any(f"{{{parameter.name}}}" not in operation.path for parameter in operation.parameters)
]
"""What can be asked wrongly: any text is right in a path, and where nothing is given nothing is wrong."""


@pytest.mark.parametrize(("name", "mode"), POSITIVE + NEGATIVE, ids=lambda value: getattr(value, "value", value))
def test_every_response_matches_openapi(endpoint: Endpoint, name: str, mode: GenerationMode) -> None:
    schema = schemathesis.openapi.from_url(f"{endpoint.url}/openapi.json")
    label = next(f"{operation.method} {operation.path}" for operation in OPERATIONS if operation.name == name)
    operation = schema.find_operation_by_label(label)
    assert operation is not None

    @fuzz_settings
    @given(case=operation.as_strategy(mode))
    def ask(case: Case) -> None:
        answer = case.call()
        # Which messages of a conversation are the reader's own words, and which turns are signed, no schema can tell.
        chat = isinstance(case.body, dict) and "question" not in case.body and name == "ask"
        case.validate_response(answer, checks=CHECKS if chat or name == "feedback" else POSITIVE_CHECKS)
        if answer.status_code >= 400:
            assert answer.headers["content-type"] == [PROBLEM]
            assert answer.json()["status"] == answer.status_code

    ask()


@pytest.mark.parametrize("path", ["/v1/ask", "/v1/feedback"])
def test_random_bodies_never_cause_server_error(endpoint: Endpoint, path: str) -> None:
    anything = st.recursive(
        st.none() | st.booleans() | st.floats() | st.text(max_size=20) | st.integers(),
        lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(FIELDS), inner, max_size=6),
        max_leaves=12,
    )

    @fuzz_settings
    @given(st.binary(max_size=200) | anything.map(lambda value: json.dumps(value).encode()))
    def ask(body: bytes) -> None:
        answer = endpoint.http.post(path, content=body, headers={"Content-Type": "application/json"})
        assert answer.status_code in (200, 204, 400, 422)
        if answer.status_code >= 400:
            assert (answer.headers["content-type"], answer.json()["status"]) == (PROBLEM, answer.status_code)

    ask()
