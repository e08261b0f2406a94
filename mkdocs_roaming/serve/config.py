"""The configuration of the endpoint, from settings, environment and command line.

[serve]
hosts = ["ask.example"]         # names that the server answers to, in addition to localhost
origins = ["https://docs.example"]
proxies = 1                     # number of trusted reverse proxies
key_env = "ROAMING_KEY"         # environment variable with the key that signs conversation tokens
counters_env = "ROAMING_COUNTERS"  # environment variable with the URL of a Redis
look_every = 60                 # seconds between two checks of the site
drain = 30                      # seconds for answers in progress when the server stops
turn_seconds = 86400            # time for which follow-up questions can refer to an answer
kept_answers = 1000             # maximum number of cached answers
trust_rules = false             # follow the rules of a site that is not a local folder
question_log = "questions.jsonl"   # logs contain neither addresses nor secrets (default: no log)
feedback_log = "feedback.jsonl"

[limits]                        # see AnswerQuota and RequestPolicy
answers_a_minute = 60
money_a_day = 2.0
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Annotated

import msgspec

from mkdocs_roaming.config import Settings, decode_table, table_keys
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.serve._uvicorn import DRAIN_SECONDS
from mkdocs_roaming.serve.app import AppConfig
from mkdocs_roaming.serve.cache import MAX_CACHED_ANSWERS
from mkdocs_roaming.serve.conversation_token import TOKEN_SECONDS
from mkdocs_roaming.serve.deployments import POLL_SECONDS
from mkdocs_roaming.serve.log import strip_passwords
from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.quotas import AnswerQuota
from mkdocs_roaming.serve.service import AnswerConfig

KEY_VARIABLE, COUNTERS_VARIABLE = "ROAMING_KEY", "ROAMING_COUNTERS"
MIN_KEY_CHARS = 16

_Seconds = Annotated[float, msgspec.Meta(gt=0, le=1e15)]


class ServeTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The table [serve]."""

    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxies: int = 0
    key_env: str = KEY_VARIABLE
    counters_env: str = COUNTERS_VARIABLE
    look_every: _Seconds = POLL_SECONDS
    drain: Annotated[int, msgspec.Meta(ge=0)] = DRAIN_SECONDS
    turn_seconds: Annotated[int, msgspec.Meta(ge=1)] = TOKEN_SECONDS
    kept_answers: Annotated[int, msgspec.Meta(ge=0)] = MAX_CACHED_ANSWERS
    trust_rules: bool = False
    question_log: str = ""
    feedback_log: str = ""


SERVE_KEYS = table_keys(ServeTable)
_QUOTA_KEYS = table_keys(AnswerQuota)
_POLICY_KEYS = tuple(
    name for name in table_keys(RequestPolicy) if name not in ("hosts", "origins", "proxies", "guarded")
)
LIMIT_KEYS = (*_QUOTA_KEYS, *_POLICY_KEYS)


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """Options of the command line. With None or an empty tuple, the settings apply."""

    target: str
    host: str = "127.0.0.1"
    port: int = 8000
    site: Path | None = None
    hosts: tuple[str, ...] = ()
    origins: tuple[str, ...] = ()
    proxies: int | None = None
    trust_rules: bool = False


@dataclass(frozen=True, slots=True)
class ServeConfig:
    """The configuration of the application and of its server."""

    app: AppConfig
    host: str
    port: int
    drain_seconds: int
    key_variable: str


def build_config(
    options: ServeOptions, answers: AnswerConfig, settings: Settings, environ: Mapping[str, str]
) -> ServeConfig:
    """Return the configuration. Raise UsageError if it is invalid."""
    file = settings.where
    table = decode_table(file, "serve", settings.serving.get("serve", {}), ServeTable)
    limits = settings.serving.get("limits", {})
    if isinstance(limits, dict) and (unknown := next((name for name in limits if name not in LIMIT_KEYS), "")):
        raise UsageError(f"{file}: [limits] unknown key {unknown!r}. Known keys: {', '.join(LIMIT_KEYS)}")
    key = environ.get(table.key_env, "").encode("utf-8")
    if 0 < len(key) < MIN_KEY_CHARS:
        raise UsageError(
            f"{table.key_env} needs at least {MIN_KEY_CHARS} characters; create a key with `openssl rand -hex 32`"
        )
    policy = replace(
        decode_table(file, "limits", limits, RequestPolicy),
        hosts=_merge(RequestPolicy().hosts, _bound_names(options.host), table.hosts, options.hosts),
        origins=_merge(table.origins, options.origins),
        proxies=table.proxies if options.proxies is None else options.proxies,
    )
    app = AppConfig(
        options.target,
        answers,
        key=key,
        site=options.site,
        policy=policy,
        quota=decode_table(file, "limits", limits, AnswerQuota),
        counters_url=environ.get(table.counters_env) or None,
        question_log=Path(table.question_log) if table.question_log else None,
        feedback_log=Path(table.feedback_log) if table.feedback_log else None,
        poll_seconds=table.look_every,
        trust_rules=options.trust_rules or table.trust_rules,
        max_cached_answers=table.kept_answers,
        token_seconds=table.turn_seconds,
    )
    return ServeConfig(app, options.host, options.port, table.drain, table.key_env)


def _bound_names(host: str) -> tuple[str, ...]:
    """Return the name for an address that the server binds to, none for all addresses."""
    if host in ("0.0.0.0", "::"):
        return ()
    return (f"[{host}]" if ":" in host else host,)


def _merge(*lists: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(name for names in lists for name in names))


# Printing


def format_config(
    config: ServeConfig, settings: Settings, environ: Mapping[str, str], *, answers: bool = True
) -> Iterator[str]:
    """Yield the configuration in lines, with secrets only as set or not set.

    Args:
        config: The configuration.
        settings: The settings it was built from.
        environ: The environment it was built from.
        answers: Whether questions are answered. A store of many sites answers none.
    """
    app = config.app
    yield _format_line("settings", settings.where or "none")
    yield _format_line("site" if answers else "store", strip_address_secrets(app.target))
    yield _format_line("listens on", f"{config.host}:{config.port}")
    embeddings = settings.embeddings if settings.search != "lexical" else None
    if answers:
        yield _format_line("static files", app.site or "none")
        yield _format_line("model", app.answers.model.name)
    yield _format_line("search", f"hybrid, {embeddings.model}" if embeddings else "lexical")
    keys = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", settings.key_env) if answers else ()
    for name in dict.fromkeys(filter(None, (*keys, embeddings.key_env if embeddings else ""))):
        yield _format_line(name, "set" if environ.get(name) else "not set")
    if answers:
        yield from _format_answer_limits(config)
    for name in _POLICY_KEYS:
        yield _format_line(f"[limits] {name}", getattr(app.policy, name))
    for name in ("hosts", "origins", "proxies"):
        yield _format_line(f"[serve] {name}", getattr(app.policy, name))
    yield _format_line("[serve] look_every", app.poll_seconds)
    yield _format_line("[serve] drain", config.drain_seconds)
    if answers:
        yield _format_line("[serve] turn_seconds", app.token_seconds)
        yield _format_line("[serve] kept_answers", app.max_cached_answers)
        yield _format_line("[serve] question_log", app.question_log)
        yield _format_line("[serve] feedback_log", app.feedback_log)
        yield _format_line("rules", "trusted" if app.trust_rules else "trusted only in local folders")


def _format_answer_limits(config: ServeConfig) -> Iterator[str]:
    app = config.app
    yield _format_line(config.key_variable, "set" if app.key else "not set: tokens expire when the process ends")
    yield _format_line("counters", strip_address_secrets(app.counters_url) if app.counters_url else "in this process")
    yield _format_line("[budget] whole_site_tokens", app.answers.small_site_tokens)
    budget = asdict(app.answers.budget)
    prices = budget.pop("prices")
    for name, value in budget.items():
        yield _format_line(f"[budget] {name}", value)
    described = ", ".join(f"{name} {value}" for name, value in prices.items()) if prices else None
    yield _format_line("[budget] prices", described)
    for name, value in asdict(app.quota).items():
        yield _format_line(f"[limits] {name}", value)


def strip_address_secrets(address: str) -> str:
    """Return an address without passwords, query and fragment."""
    if "://" not in address:
        return address
    return strip_passwords(re.split(r"[?#]", address, maxsplit=1)[0])


def _format_line(name: str, value: object) -> str:
    if isinstance(value, tuple):
        value = ", ".join(value) or "none"
    return f"{name} = {'none' if value is None else value}"
