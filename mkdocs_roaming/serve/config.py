"""What settings, environment and options come to for the endpoint, and how that is shown without its secrets.

[serve]
hosts = ["ask.example"]         # the names that it answers to, beside localhost
origins = ["https://docs.example"]
proxies = 1                     # servers of ours that stand in front
key_env = "ROAMING_KEY"         # the variable that holds the key that turns are signed with
counters_env = "ROAMING_COUNTERS"  # the variable that holds the address of a Redis
look_every = 60                 # seconds between two looks at the site
drain = 30                      # seconds for answers under way when it is stopped
turn_seconds = 86400            # for how long a follow-up may refer to an answer
kept_answers = 1000
trust_rules = false             # whether the rules of a site that is somebody else's are followed
question_log = "questions.jsonl"   # without addresses and secrets; nothing is logged where nothing is set
feedback_log = "feedback.jsonl"

[limits]                        # see Allowance and Policy
answers_a_minute = 60
money_a_day = 2.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from mkdocs_roaming.config import Settings, check_table
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve._uvicorn import DRAIN_SECONDS
from mkdocs_roaming.serve.app import AppConfig
from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.quotas import AnswerQuota
from mkdocs_roaming.serve.redaction import strip_passwords
from mkdocs_roaming.serve.service import AnswerConfig

KEY_VARIABLE, COUNTERS_VARIABLE = "ROAMING_KEY", "ROAMING_COUNTERS"
MIN_KEY_CHARS = 16

SERVE_KEYS: Mapping[str, type] = {
    "hosts": list,
    "origins": list,
    "proxies": int,
    "key_env": str,
    "counters_env": str,
    "look_every": float,
    "drain": int,
    "turn_seconds": int,
    "kept_answers": int,
    "trust_rules": bool,
    "question_log": str,
    "feedback_log": str,
}
_ALLOWANCE: Mapping[str, type] = {
    one.name: float if one.name.startswith("money") else int for one in fields(AnswerQuota)
}
_POLICY: Mapping[str, type] = {
    one.name: float if one.name.endswith("_seconds") else int
    for one in fields(RequestPolicy)
    if one.name not in ("hosts", "origins", "proxies", "guarded")
}
LIMIT_KEYS: Mapping[str, type] = {**_ALLOWANCE, **_POLICY}


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """What the command line says; None and empty leave it to the settings."""

    where: str
    host: str = "127.0.0.1"
    port: int = 8000
    site: Path | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxies: int | None = None
    trust_rules: bool = False


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """What is served, where it listens, and for how long answers may go on when it is stopped."""

    serving: AppConfig
    host: str
    port: int
    drain: int
    key_name: str


def build_config(given: ServeOptions, way: AnswerConfig, settings: Settings, environ: Mapping[str, str]) -> ServeConfig:
    """Give what all of it comes to; raises UsageError in one line where it cannot be."""
    where = settings.where
    own = check_table(where, "serve", settings.serving.get("serve", {}), SERVE_KEYS)
    limits = check_table(where, "limits", settings.serving.get("limits", {}), LIMIT_KEYS)
    key_name = own.get("key_env", KEY_VARIABLE)
    key = environ.get(key_name, "").encode("utf-8")
    if 0 < len(key) < MIN_KEY_CHARS:
        raise UsageError(f"{key_name} has at least {MIN_KEY_CHARS} characters; `openssl rand -hex 32` gives one")
    default = RequestPolicy()
    listening = () if given.host in ("0.0.0.0", "::") else (f"[{given.host}]" if ":" in given.host else given.host,)
    policy = RequestPolicy(
        hosts=tuple(dict.fromkeys((*default.hosts, *listening, *own.get("hosts", ()), *given.hosts))),
        origins=tuple(dict.fromkeys((*own.get("origins", ()), *given.origins))),
        proxies=own.get("proxies", 0) if given.proxies is None else given.proxies,
        **{name: value for name, value in limits.items() if name in _POLICY},
    )
    every = own.get("look_every", 60.0)
    kept, seconds, drain = (
        own.get("kept_answers", 1_000),
        own.get("turn_seconds", 86_400),
        own.get("drain", DRAIN_SECONDS),
    )
    if not every > 0 or kept < 0 or seconds < 1 or drain < 0:
        raise UsageError(
            f"{where}: [serve] look_every and turn_seconds are more than 0, drain and kept_answers 0 or more"
        )
    serving = AppConfig(
        given.where,
        way,
        key=key,
        site=given.site,
        policy=policy,
        allowance=AnswerQuota(**{name: value for name, value in limits.items() if name in _ALLOWANCE}),
        counters=environ.get(own.get("counters_env", COUNTERS_VARIABLE)) or None,
        question_log=Path(own["question_log"]) if own.get("question_log") else None,
        feedback_log=Path(own["feedback_log"]) if own.get("feedback_log") else None,
        every=every,
        trust_rules=given.trust_rules or own.get("trust_rules", False),
        kept_answers=kept,
        turn_seconds=seconds,
    )
    return ServeConfig(serving, given.host, given.port, drain, key_name)


def format_config(
    configured: ServeConfig, settings: Settings, environ: Mapping[str, str], *, answers: bool = True
) -> Iterator[str]:
    """Give what is configured, a line each; of secrets only whether they are set.

    Where no questions are answered, as for a store of many sites, it is without what is about answers.
    """
    serving = configured.serving
    yield _line("settings", settings.where or "none")
    yield _line("site" if answers else "store", strip_address_secrets(serving.where))
    yield _line("listens on", f"{configured.host}:{configured.port}")
    by_meaning = settings.embeddings if settings.search != "lexical" else None
    if answers:
        yield _line("static files", serving.site or "none")
        yield _line("model", serving.way.model.name)
    yield _line("search", f"hybrid, {by_meaning.model}" if by_meaning else "lexical")
    keys = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", settings.key_env) if answers else ()
    for name in dict.fromkeys(filter(None, (*keys, by_meaning.key_env if by_meaning else ""))):
        yield _line(name, "set" if environ.get(name) else "not set")
    if answers:
        yield from _limits_of_answers(configured)
    for name in _POLICY:
        yield _line(f"[limits] {name}", getattr(serving.policy, name))
    for name in ("hosts", "origins", "proxies"):
        yield _line(f"[serve] {name}", getattr(serving.policy, name))
    yield _line("[serve] look_every", serving.every)
    yield _line("[serve] drain", configured.drain)
    if answers:
        yield _line("[serve] turn_seconds", serving.turn_seconds)
        yield _line("[serve] kept_answers", serving.kept_answers)
        yield _line("[serve] question_log", serving.question_log)
        yield _line("[serve] feedback_log", serving.feedback_log)
        yield _line("rules", "trusted" if serving.trust_rules else "trusted in folders of one's own")


def _limits_of_answers(configured: ServeConfig) -> Iterator[str]:
    serving = configured.serving
    yield _line(configured.key_name, "set" if serving.key else "not set: turns end with the process")
    yield _line("counters", strip_address_secrets(serving.counters) if serving.counters else "in this process")
    budget = _flat(asdict(serving.way.budget))
    for name, value in {"whole_site_tokens": serving.way.whole_site_tokens, **budget}.items():
        yield _line(f"[budget] {name}", value)
    for name, value in asdict(serving.allowance).items():
        yield _line(f"[limits] {name}", value)


def strip_address_secrets(address: str) -> str:
    """Give an address without what may be secret in it."""
    if "://" not in address:
        return address
    return strip_passwords(re.split(r"[?#]", address, maxsplit=1)[0])


def _flat(told: Mapping[str, Any]) -> dict[str, Any]:
    prices = told.get("prices")
    rest = {name: value for name, value in told.items() if name != "prices"}
    return {**rest, "prices": ", ".join(f"{name} {value}" for name, value in prices.items()) if prices else None}


def _line(name: str, value: object) -> str:
    if isinstance(value, tuple):
        value = ", ".join(value) or "none"
    return f"{name} = {'none' if value is None else value}"
