"""Prices, and budgets with a maximum cost."""

from __future__ import annotations

import pytest

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.events import Finished, summarize
from mkdocs_roaming.answer.models.base import Text, Usage
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.errors import UsageError

from .conftest import Ask, expand_call

PRICES = Prices(input=2.0, cache_read=0.5, cache_write=3.0, output=10.0, currency="EUR")


def test_cost_is_sum_of_all_replies(ask: Ask, ids: dict[str, str]) -> None:
    server = ids["Server"]
    replies = [
        [expand_call(server), Usage(1_000, 0, 4_000, 100)],
        [Text(f"8642 [^{server}]."), Usage(500, 4_000, 0, 50)],
    ]
    result = summarize(ask(ScriptedModel(replies), budget=Budget(prices=PRICES)))
    assert result.usage == Usage(1_500, 4_000, 4_000, 150)
    assert result.cost == pytest.approx((1_500 * 2 + 4_000 * 0.5 + 4_000 * 3 + 150 * 10) / 1e6)
    assert result.currency == "EUR"


def test_cost_is_none_without_prices(ask: Ask) -> None:
    assert summarize(ask(ScriptedModel([[Usage(5)]]))).cost is None
    assert summarize(ask(ScriptedModel([[]]), budget=Budget(prices=PRICES))).cost is None


def test_spent_cost_ends_answer(ask: Ask, ids: dict[str, str]) -> None:
    replies = [[expand_call(ids["Server"]), Usage(10_000)], [Text("never asked for")]]
    model = ScriptedModel(replies)
    events = ask(model, budget=Budget(prices=PRICES, cost=0.01))
    last = events[-1]
    assert isinstance(last, Finished)
    assert (last.state, last.spent, last.cost) == ("budget", "cost", pytest.approx(0.02))
    assert len(model.requests) == 1
    assert summarize(events).text.startswith(f"{last.message} {prompts.NEAREST_SECTIONS}")
    server = ids["Server"]
    whole = ScriptedModel([[expand_call(server), Usage(1_000)], [Text(f"8642 [^{server}]."), Usage(100_000)]])
    assert summarize(ask(whole, budget=Budget(prices=PRICES, cost=0.01))).state == "answered"


def test_nearly_spent_cost_is_in_note(ask: Ask, ids: dict[str, str]) -> None:
    model = ScriptedModel([[expand_call(ids["Server"]), Usage(4_000)], [Text("The docs do not say this.")]])
    ask(model, budget=Budget(prices=PRICES, cost=0.01))
    assert [request.note for request in model.requests] == ["", prompts.LITTLE_MONEY]


def test_budget_with_cost_needs_prices() -> None:
    with pytest.raises(UsageError, match="needs prices"):
        Budget(cost=0.1)


# Cost before spending


def test_highest_cost_is_that_of_all_requests_about_a_large_site() -> None:
    prices = Prices(input=1.0, cache_read=0.1, cache_write=1.25, output=5.0)
    budget = Budget(rounds=3, open_chars=40_000, output_tokens=500, prices=prices)
    sizes = (16_000, 21_500, 27_000)  # 10,000 tokens of sections and two replies
    assert budget.highest_cost == pytest.approx((27_000 * 1.25 + (16_000 + 21_500) * 0.1 + 3 * 500 * 5.0) / 1e6)
    assert budget.describe_price() == "up to 0.045 USD"
    without_cache = Budget(rounds=3, open_chars=40_000, output_tokens=500, prices=Prices(input=1.0, output=5.0))
    assert without_cache.highest_cost == pytest.approx((sum(sizes) + 3 * 500 * 5.0) / 1e6)
    assert Budget().highest_cost is None
    assert Budget().describe_price() == "an unknown amount"
