"""Prices, and budgets with a maximum cost."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import anyio
import pytest

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import Budget, CostEstimate, Prices
from mkdocs_roaming.answer.estimate import estimate_cost
from mkdocs_roaming.answer.events import Event, Finished, summarize
from mkdocs_roaming.answer.models.base import Text, Usage
from mkdocs_roaming.answer.models.scripted import ScriptedModel
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.navigator import Navigator
from mkdocs_roaming.text.tokenizer import estimate_tokens

from .conftest import expand_call

Ask = Callable[..., list[Event]]
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
    with pytest.raises(UsageError, match="more than 0"):
        Budget(cost=0, prices=PRICES)
    with pytest.raises(UsageError, match="a budget needs at least"):
        Budget(rounds=0)


@pytest.mark.parametrize("price", [-1.0, float("nan"), float("inf")])
def test_prices_reject_invalid_numbers(price: float) -> None:
    with pytest.raises(UsageError, match="a price for a million tokens must be 0 or more"):
        Prices(input=price)


# Cost before spending


def test_estimate_ranges_from_one_cached_request_to_all_requests() -> None:
    prices = Prices(input=1.0, cache_read=0.1, cache_write=1.25, output=5.0)
    budget = Budget(rounds=3, open_chars=40_000, output_tokens=500, prices=prices)
    estimate = CostEstimate.from_sizes(8_000, 2_000, budget, whole_site=False)
    sizes = (10_000, 14_500, 19_000)  # 8,000 tokens of further sections and two replies
    assert estimate.input == (10_000, sum(sizes))
    lowest = (8_000 * 0.1 + 2_000 * 1.25 + 150 * 5.0) / 1e6
    highest = (19_000 * 1.25 + (10_000 + 14_500) * 0.1 + 3 * 500 * 5.0) / 1e6
    assert estimate.cost == pytest.approx((lowest, highest))
    assert estimate.summary == "about 0.0040–0.034 USD"


def test_estimate_of_small_site_is_one_request() -> None:
    estimate = CostEstimate.from_sizes(5_000, 10, Budget(prices=Prices(input=2.0, output=10.0)), whole_site=True)
    assert estimate.input == (5_010, 5_010)
    assert estimate.cost == pytest.approx((0.01002 + 0.0015, 0.01002 + 0.007))  # without cache prices: that of input


def test_estimate_without_prices_has_tokens() -> None:
    estimate = CostEstimate.from_sizes(8_000, 2_000, Budget(), whole_site=False)
    assert estimate.cost is None
    assert estimate.summary == f"about 10,000–{estimate.input[1]:,} input tokens"


@pytest.mark.parametrize("whole_site_tokens", [0, 10**6])
def test_estimate_measures_request_of_answer(ask: Ask, library: Library, whole_site_tokens: int) -> None:
    model, navigator = ScriptedModel([[Text("No [^none].")]]), Navigator(library)
    question, limit = "Which port is the default?", whole_site_tokens
    estimate = anyio.run(partial(estimate_cost, question, navigator, Budget(), whole_site_tokens=limit))
    assert navigator.opened == ()
    ask(model, question, whole_site_tokens=limit)
    (request,) = model.requests
    sizes = [estimate_tokens(text) for text in (request.rules, request.outline)]
    least = sum(sizes) + estimate_tokens(question) + (0 if limit else 300)  # and the tools
    assert least <= estimate.input[0] <= estimate.input[1]
    assert (estimate.input[0] == estimate.input[1]) is bool(limit)
