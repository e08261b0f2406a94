"""Three batches with a busy server, and a token that may not write."""

import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
from datetime import UTC, datetime, timedelta, timezone

from support import Harbour, Token, expect, format_time, run_check

START = datetime(2026, 2, 3, 22, 30, tzinfo=timezone(timedelta(hours=2)))


def check(solution: ModuleType) -> None:
    rows = [(START + timedelta(minutes=6 * index), 1 + index % 50 / 100, 60 + index % 40) for index in range(1260)]
    tokens = {"ebbp_steer": Token("steer"), "ebbp_look": Token("look")}
    with Harbour(stations={"weir": [], "lock-upper": []}, tokens=tokens, busy={2: 1.3}) as harbour:
        solution.upload(harbour.url, "ebbp_steer", "weir", rows)
        stored = sorted((row["t"], row["h"], row.get("q")) for row in harbour.stored.get("weir", []))
        wanted = [(format_time(time.astimezone(UTC)), level, quality) for time, level, quality in rows]
        expect(len(stored) == len(wanted), f"{len(stored)} of {len(wanted)} rows were stored")
        expect(stored == wanted, "stored rows differ from the given ones")
        expect(not harbour.problems, "; ".join(harbour.problems))
        check_refusal(solution, harbour)


def check_refusal(solution: ModuleType, harbour: Harbour) -> None:
    try:
        solution.upload(harbour.url, "ebbp_look", "lock-upper", [(START, 1.25, 90)])
    except Exception:
        return
    expect(False, "no exception although the server refused the rows")


run_check(check)
