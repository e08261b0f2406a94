"""The rules are evaluated over levels, rates and surges; channels are compared by key."""

import operator
import re
import sys
from pathlib import Path
from types import ModuleType

sys.path.insert(0, str(Path(__file__).parents[2]))
from itertools import product
from typing import Any

from support import expect, run_check

WORDS = ("level", "rate", "surge", "quality", "silence", "volts")
OPERATORS = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
KEYS = {"name", "station", "when", "hold_for", "clear", "send", "class", "season"}
MAIL = {
    "kind": "mail",
    "server": "mail.vikholm.example:5873",
    "login": "harbour",
    "password_file": "/etc/ebbkeeper/mail.secret",
}
TEXT = {"kind": "text", "device": "/dev/ttyUSB3"}


def evaluate(condition: object, values: dict[str, float]) -> bool:
    """Evaluate a condition of a rule, whose `and` binds tighter than its `or`."""
    expect(isinstance(condition, str), f"not a condition: {condition!r}")
    return any(
        all(compare(part, values) for part in re.split(r"\band\b", group))
        for group in re.split(r"\bor\b", str(condition))
    )


def compare(text: str, values: dict[str, float]) -> bool:
    match = re.fullmatch(r"\s*([a-z]+)\s*(<=|>=|<|>)\s*(-?\d+(?:\.\d+)?)\s*", text)
    expect(match is not None and match[1] in WORDS, f"the server does not understand the condition {text.strip()!r}")
    assert match is not None
    return bool(OPERATORS[match[2]](values[match[1]], float(match[3])))


def parse_span(text: object) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)", str(text))
    expect(match is not None, f"not a time: {text!r}")
    assert match is not None
    return float(match[1]) * UNITS[match[2]]


def make_values(level: float, rate: float = 0.0, surge: float = 0.0) -> dict[str, float]:
    return {"level": level, "rate": rate, "surge": surge, "quality": 96.0, "silence": 0.0, "volts": 12.6}


def check_rules(rules: list[dict[str, Any]]) -> None:
    for level, rate, surge in product((1.0, 1.19, 1.21, 2.0), (-1.0, 0.54, 0.56), (-0.5, 0.39, 0.41)):
        raised = any(evaluate(rule.get("when"), make_values(level, rate, surge)) for rule in rules)
        expected = level > 1.2 and (rate > 0.55 or surge > 0.4)
        expect(
            raised == expected, f"level {level}, rate {rate}, surge {surge}: raised is {raised}, expected {expected}"
        )
    expect(len({rule.get("name") for rule in rules} - {None}) == len(rules), "every rule needs a name of its own")
    for rule in rules:
        expect(not set(rule) - KEYS, f"unknown keys of a rule: {sorted(set(rule) - KEYS)}")
        expect(rule.get("station") == "weir", f"wrong station of a rule: {rule.get('station')!r}")
        expect(
            parse_span(rule.get("hold_for", "4m")) == 600,
            f"the alert is not held for 10 minutes: {rule.get('hold_for')!r}",
        )
        for level in (1.04, 1.06, 1.3):
            cleared = evaluate(rule.get("clear"), make_values(level, 1.0, 1.0))
            expect(cleared == (level < 1.05), f"level {level}: the alert is{'' if cleared else ' not'} cleared")
        expect(rule.get("class") == "siren", f"the class {rule.get('class', 'plain')!r} does not break through a hush")


def check_channel(channel: object, wanted: dict[str, str], receiver: str) -> None:
    expect(isinstance(channel, dict), f"no such channel: {channel!r}")
    assert isinstance(channel, dict)
    for key, value in wanted.items():
        expect(channel.get(key) == value, f"channel: expected {key} {value!r}, got {channel.get(key)!r}")
    expect(channel.get("to") in ([receiver], receiver), f"channel: wrong receiver {channel.get('to')!r}")


def check(solution: ModuleType) -> None:
    alerts = solution.flood_settings().get("alerts")
    expect(isinstance(alerts, dict), "no section `alerts`")
    rules, channels = alerts.get("rules"), alerts.get("channels")
    expect(isinstance(rules, list) and bool(rules), "no list `rules` in `alerts`")
    expect(isinstance(channels, dict), "no section `channels` in `alerts`")
    check_rules(rules)
    for rule in rules:
        expect(isinstance(rule.get("send"), list) and len(rule["send"]) == 1, "a rule does not send to one channel")
        mail = channels.get(rule["send"][0])
        check_channel(mail, MAIL, "duty@vikholm.example")
        check_channel(channels.get(mail.get("fallback")), TEXT, "+999 55 0101")
    expect(alerts.get("mute") == ["calibration-due"], f"the built-in alert is not muted: {alerts.get('mute')!r}")


run_check(check)
