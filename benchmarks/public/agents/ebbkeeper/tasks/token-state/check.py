"""Tokens of each kind, a busy server, and an address that is locked out."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
from support import Harbour, Token, expect, run_check

TOKENS = {"ebbp_good": Token(), "ebbp_end": Token("steer", "ending"), "ebbp_old": Token("captain", "expired")}


def check(solution: ModuleType) -> None:
    with Harbour(stations={"weir": []}, tokens=TOKENS, busy={1: 0.6}) as harbour:
        cases = [("ebbp_good", "good"), ("ebbp_end", "renew"), ("ebbp_old", "expired")]
        cases += [("ebbp_nobody", "wrong")] * 8 + [("ebbp_good", "locked"), ("ebbp_nobody", "locked")]
        for token, expected in cases:
            state = solution.token_state(harbour.url, token)
            expect(state == expected, f"expected {expected!r}, got {state!r}")
        expect(not harbour.problems, "; ".join(harbour.problems))


run_check(check)
