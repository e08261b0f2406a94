"""A shop that is busy, breaks off, and recovers or does not; pauses are recorded instead of slept."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
import time
from http.client import BadStatusLine, HTTPException
from typing import Any

from quern import QuernError
from support import expect, expect_rows, run_check

Answer = tuple[int, dict[str, str], Any] | Exception
BUSY: Answer = (503, {}, None)
BROKEN: Answer = BadStatusLine("")
PAGES = {0: (["a", "b"], 2), 2: ([], 4), 4: (["c"], None)}


class Shop:
    """Answers by offset; what `before` has for an offset comes first."""

    def __init__(self, before: dict[int, list[Answer]]) -> None:
        self.before = {offset: list(answers) for offset, answers in before.items()}
        self.calls: list[int] = []

    def get(self, offset: int) -> tuple[int, dict[str, str], Any]:
        self.calls.append(offset)
        answers = self.before.get(offset)
        if answers:
            answer = answers.pop(0)
            if isinstance(answer, Exception):
                raise answer
            return answer
        names, following = PAGES[offset]
        return 200, {}, {"items": [{"sku": name, "stock": "3"} for name in names], "next": following}


def expect_pauses(pauses: list[float], expected: list[float]) -> None:
    rounded = [round(pause, 6) for pause in pauses]
    expect(rounded == expected, f"expected pauses of {expected} s, got {rounded}")
    pauses.clear()


def expect_error(solution: ModuleType, shop: Shop, kind: type[Exception], calls: int) -> Exception:
    try:
        solution.read_shop(shop.get)
    except kind as error:
        expect(len(shop.calls) == calls, f"expected {calls} calls before the error, got {len(shop.calls)}")
        return error
    expect(False, f"expected {kind.__name__}, got a result")
    raise AssertionError


def check(solution: ModuleType) -> None:
    pauses: list[float] = []
    vars(time)["sleep"] = pauses.append
    rows = [{"sku": name, "stock": 3} for name in "abc"]
    shop = Shop(
        {0: [BUSY, BROKEN, (429, {"Retry-After": "7"}, None), BUSY], 4: [BROKEN, HTTPException(), BUSY, BROKEN]}
    )
    expect_rows(solution.read_shop(shop.get).rows, rows)
    expect_pauses(pauses, [0.2, 0.4, 7.0, 1.6, 0.2, 0.4, 0.8, 1.6])
    expect(shop.calls == [0] * 5 + [2] + [4] * 5, f"unexpected calls: {shop.calls}")
    expect_rows(solution.read_shop(Shop({2: [(429, {"Retry-After": "20"}, None)]}).get).rows, rows)
    expect_pauses(pauses, [20.0])
    expect_error(solution, Shop({0: [BUSY] * 9}), QuernError, 5)
    expect_pauses(pauses, [0.2, 0.4, 0.8, 1.6])
    expect_error(solution, Shop({2: [(429, {"Retry-After": "21"}, None)]}), QuernError, 2)
    expect_pauses(pauses, [])
    expect_error(solution, Shop({2: [(404, {}, None)]}), RuntimeError, 2)


run_check(check)
