"""A provider that is overloaded for longer than the time budget of an answer."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.anthropic import AnthropicModel
from mkdocs_roaming.answer.models.base import Model
from mkdocs_roaming.answer.models.openai import OpenAIModel
from mkdocs_roaming.answer.models.provider import Retries

pytestmark = pytest.mark.slow

Start = Callable[..., Any]
WIRES: dict[str, Callable[[str], Model]] = {
    "claude": lambda url: AnthropicModel(key="test-key", base_url=url),
    "openai": lambda url: OpenAIModel("qwen3", key="test-key", base_url=url),
}
WITHOUT_RETRIES: dict[str, Callable[[str], Model]] = {
    "claude": lambda url: AnthropicModel(key="test-key", base_url=url, retries=Retries(0)),
    "openai": lambda url: OpenAIModel("qwen3", key="test-key", base_url=url, retries=Retries(0)),
}
QUESTION = "How long is water kept hot?"


class Overloaded:
    """A provider that returns 529 while it is `over`, with Retry-After if `wait` is set."""

    def __init__(self, wait: str = "") -> None:
        self.over, self.wait = True, wait

    def reply(self, view: Any) -> Any:
        from messages_api.navigator import Navigator
        from messages_api.parts import Status

        headers = {"retry-after": self.wait} if self.wait else {}
        return [Status(529, headers, kind="overloaded_error")] if self.over else Navigator().reply(view)


@pytest.mark.parametrize("wire", WIRES)
def test_retries_stop_within_time_budget(start: Start, folder: Path, wire: str) -> None:
    from messages_api import MessagesApi, serving

    with serving(MessagesApi(Overloaded("1.2"))) as api:
        endpoint = start(folder, WIRES[wire](api.url), budget=Budget(seconds=1.8))
        status = endpoint.status(QUESTION)
    assert (status["state"], status["code"], status["nearest"] != []) == ("budget", "budget_seconds", True)
    assert len(api.exchanges) == 2


class Failing:
    """A provider that answers every request with a status."""

    def __init__(self, status: int, kind: str, message: str) -> None:
        self._status = status, kind, message

    def reply(self, view: Any) -> Any:
        from messages_api.parts import Status

        code, kind, message = self._status
        return [Status(code, {}, kind=kind, message=message)]


@pytest.mark.parametrize("wire", WIRES)
def test_each_failure_has_results_and_a_cause_for_the_operator_only(start: Start, folder: Path, wire: str) -> None:
    from messages_api import MessagesApi, serving

    failures = {
        "key": (401, "authentication_error", "invalid x-api-key"),
        "credit": (402, "billing_error", "Your credit balance is too low"),
        "rate": (429, "rate_limit_error", "slow down"),
        "overload": (529, "overloaded_error", "Overloaded"),
        "failure": (500, "api_error", "Internal server error"),
        "address": (404, "not_found_error", "model: x"),
        "request": (400, "invalid_request_error", "this model does not support tools"),
        "size": (400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
        "timeout": (504, "timeout_error", "timed out"),
    }
    messages = set()
    for cause, failure in failures.items():
        with serving(MessagesApi(Failing(*failure))) as api:
            model = WITHOUT_RETRIES[wire](api.url)
            parts = start(folder, model).ask(QUESTION)
        status = next(part["data"] for part in parts if part["type"] == "data-status")
        assert (status["state"], status["cause"]) == ("error", cause)
        messages.add(status["message"].partition(" Try again")[0])
        text = "".join(part["delta"] for part in parts if part["type"] == "text-delta")
        assert text.startswith(status["message"])
        assert prompts.NEAREST_SECTIONS in text
        assert failure[2] not in text  # details are for the operator
    assert len(messages) == 2  # only a long question is something that readers can change
