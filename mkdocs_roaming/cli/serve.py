"""`roaming serve` and `roaming mcp`."""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterator
from dataclasses import asdict, replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from mkdocs_roaming.cli.common import (
    LIBRARY,
    TRUST_RULES,
    ResolvedOptions,
    model_options,
    one_line,
)
from mkdocs_roaming.errors import UsageError

if TYPE_CHECKING:
    from mkdocs_roaming.config import Settings
    from mkdocs_roaming.serve.app import AppConfig
    from mkdocs_roaming.serve.middleware import RequestPolicy

_log = logging.getLogger("mkdocs_roaming.serve")
_OPEN_SITES = 16
"""Number of sites of a store whose search index stays in memory."""
_OPEN_AGENT_SITES = 8
"""Number of sites of a store whose search index stays in memory: an agent alternates between a few."""
_SINGLE_SITE_OPTIONS = ("site", "model", "base_url", "rounds", "seconds", "whole_site_tokens", "support", "trust_rules")


@click.command()
@LIBRARY
@click.option("--host", envvar="ROAMING_HOST", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    envvar="ROAMING_PORT",
    type=click.IntRange(0, 65535),
    default=8000,
    show_default=True,
    help="Port; 0 selects a free one.",
)
@click.option(
    "--site",
    type=click.Path(file_okay=False, path_type=Path),
    help="Also serve this built site; with `Accept: text/markdown` its Markdown.",
)
@click.option("--allow-host", "hosts", multiple=True, envvar="ROAMING_HOSTS", help="Additional host name. Repeatable.")
@click.option(
    "--allow-origin", "origins", multiple=True, envvar="ROAMING_ORIGINS", help="Origin whose pages may ask. Repeatable."
)
@click.option(
    "--proxies",
    type=click.IntRange(min=0),
    envvar="ROAMING_PROXIES",
    help="Number of trusted reverse proxies (default: 0).",
)
@click.option(
    "--metrics",
    metavar="WHERE",
    envvar="ROAMING_METRICS",
    help="Address of the metrics, or off (default: 127.0.0.1:9464).",
)
@click.option(
    "--access-log",
    type=click.Choice(["off", "json"]),
    envvar="ROAMING_ACCESS_LOG",
    help="One line for each request on standard output (default: off).",
)
@model_options
@TRUST_RULES
@click.option("--check", is_flag=True, help="Check site, model, key and counters, and exit. Asks the model for a word.")
@click.option("--check-config", is_flag=True, help="Print the configuration without secrets and exit.")
def serve(lib: str, host: str, port: int, check: bool, check_config: bool, **given: Any) -> None:
    """Answer questions over HTTP.

    LIB can be the URL of a published site. A new deployment is noticed within a minute. API keys are read from the
    environment; ROAMING_KEY signs the context of follow-up questions. For a store, sites are listed, searched and
    opened, also by agents; questions are answered for single sites only.
    """
    _check_packages()
    import anyio

    from mkdocs_roaming.library.targets import open_target
    from mkdocs_roaming.serve.app import build_config, create_app, describe_names, require_money_limit
    from mkdocs_roaming.serve.server import bind_socket, freeze_objects, get_url, run_server
    from mkdocs_roaming.serve.service import AnswerConfig

    own = {
        name: given[name] for name in ("site", "hosts", "origins", "proxies", "metrics", "access_log", "trust_rules")
    }
    options = ResolvedOptions.from_options(given)
    model, budget = options.create_model()
    _check_path(lib)
    answers = AnswerConfig(model, budget, options.whole_site, options.search_factory(_warn))
    config = build_config(lib, answers, options.settings, os.environ, host=host, **own)
    target = open_target(
        lib, search=answers.search_factory, open_sites=_OPEN_SITES, refresh_seconds=config.poll_seconds
    )
    if target.store is not None:
        _refuse_site_options(lib)
    create = create_app if target.store is None else target.store.create_app
    if check or check_config:
        create(config)
        if check_config:
            _print_values(config, options.settings, f"{host}:{port}", answers=target.store is None)
        if check:
            click.echo(f"ok      configuration: {options.settings.where or 'without a file'}")
            if target.store is None:
                anyio.run(_check, config)
        elif target.store is None:
            anyio.run(require_money_limit, config)
        return
    if target.store is None:
        anyio.run(require_money_limit, config)
    with bind_socket(host, port) as listener:
        app = create(replace(config, address=get_url(listener), on_change=freeze_objects))
        _configure_logging()
        _warn_about_names(host, config.policy)
        if target.store is not None:
            where = strip_address_secrets(lib)
            _log.info("serving the store %s at %s; %s", where, get_url(listener), describe_names(config.policy))
        run_server(app, listener, drain_seconds=config.drain_seconds)


async def _check(config: AppConfig) -> None:
    """Print the result of each check. Raise UsageError if one has failed."""
    from mkdocs_roaming.serve.app import check_endpoint

    failed = []
    async for result in check_endpoint(config):
        click.echo(f"{'ok' if result.ok else 'failed':<8}{one_line(result.name)}: {one_line(result.detail)}")
        if not result.ok:
            failed.append(result.name)
    if failed:
        raise UsageError(f"the endpoint cannot work: {', '.join(failed)}")


def _warn_about_names(host: str, policy: RequestPolicy) -> None:
    """Log that a server on all addresses still refuses their names."""
    from mkdocs_roaming.serve.middleware import RequestPolicy

    if host in ("0.0.0.0", "::") and policy.hosts == RequestPolicy().hosts:
        names = ", ".join(policy.hosts)
        _warn(f"all addresses are open, but only the names {names} are answered; add others with --allow-host")


def _print_values(app: AppConfig, settings: Settings, address: str, *, answers: bool) -> None:
    for name, value in _list_values(app, settings, address, answers=answers):
        text = ", ".join(value) if isinstance(value, tuple) else value
        click.echo(f"{name} = {'none' if text in (None, '') else text}")


def _list_values(app: AppConfig, settings: Settings, address: str, *, answers: bool) -> Iterator[tuple[str, object]]:
    """Yield the names and values of the configuration, secrets only as set or not set.

    Args:
        app: The configuration.
        settings: The settings it was built from.
        address: The address that the server listens on.
        answers: Whether questions are answered. A store of many sites answers none.
    """
    from mkdocs_roaming.serve.app import POLICY_KEYS

    embeddings = settings.embeddings if settings.search != "lexical" else None
    yield "settings", settings.where
    yield "site" if answers else "store", strip_address_secrets(app.target)
    yield "listens on", address
    if answers:
        yield "static files", app.site
        yield "model", app.answers.model.name
    yield "search", f"hybrid, {embeddings.model}" if embeddings else "lexical"
    keys = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", settings.key_env) if answers else ()
    for name in dict.fromkeys(filter(None, (*keys, embeddings.key_env if embeddings else ""))):
        yield name, "set" if os.environ.get(name) else "not set"
    if answers:
        yield from _list_answer_limits(app)
    for name in POLICY_KEYS:
        yield f"[limits] {name}", getattr(app.policy, name)
    for name in ("hosts", "origins", "proxies"):
        yield f"[serve] {name}", getattr(app.policy, name)
    yield "[serve] metrics", app.metrics
    yield "[serve] access_log", app.access_log
    yield "[serve] look_every", app.poll_seconds
    yield "[serve] drain", app.drain_seconds
    if answers:
        yield "[serve] turn_seconds", app.token_seconds
        yield "[serve] kept_answers", app.max_cached_answers
        yield "[serve] question_log", app.question_log
        yield "[serve] feedback_log", app.feedback_log
        yield "rules", "trusted" if app.trust_rules else "trusted only in local folders"


def _list_answer_limits(app: AppConfig) -> Iterator[tuple[str, object]]:
    yield app.key_variable, "set" if app.key else "not set: tokens expire when the process ends"
    yield "counters", strip_address_secrets(app.counters_url) if app.counters_url else "in this process"
    yield "[budget] whole_site_tokens", app.answers.small_site_tokens
    budget = asdict(app.answers.budget)
    if budget["prices"]:
        budget["prices"] = tuple(f"{name} {value}" for name, value in budget["prices"].items())
    for name, value in budget.items():
        yield f"[budget] {name}", value
    for name, value in asdict(app.quota).items():
        yield f"[limits] {name}", value


def strip_address_secrets(address: str) -> str:
    """Return an address without passwords, query and fragment."""
    from mkdocs_roaming.serve.log import strip_passwords

    return strip_passwords(re.split(r"[?#]", address, maxsplit=1)[0]) if "://" in address else address


def _refuse_site_options(lib: str) -> None:
    """Raise UsageError for command-line options that configure answers of a single site.

    Configuration file and environment are shared with other endpoints and are not checked.
    """
    context = click.get_current_context()
    for name in _SINGLE_SITE_OPTIONS:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            raise UsageError(f"--{option}: applies to a single site; serve {lib}/SITE instead")


def _check_packages() -> None:
    missing = [name for name in ("limits", "starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise UsageError(f"roaming serve needs the package {missing[0]}: pip install 'mkdocs-roaming[serve]'")


def _check_path(lib: str) -> None:
    """Raise UsageError for a missing folder; a URL may become available later."""
    from mkdocs_roaming.serve.log import strip_passwords

    try:
        urlsplit(lib)
    except ValueError as error:
        raise UsageError(f"{strip_passwords(lib)}: invalid URL ({error})") from None
    if "://" not in lib and not Path(lib).exists():
        raise UsageError(f"{lib}: no such folder or file; check the path; a URL starts with https://")


def _warn(line: str) -> None:
    from mkdocs_roaming.serve.log import strip_passwords

    _log.warning("%s", strip_passwords(line))


def _configure_logging() -> None:
    """Log requests to standard output, everything else to standard error."""
    from mkdocs_roaming.serve.log import ACCESS_LOGGER

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S")
    logging.getLogger("mkdocs_roaming").setLevel(logging.INFO)
    access = logging.getLogger(ACCESS_LOGGER)
    access.propagate = False
    access.addHandler(logging.StreamHandler(sys.stdout))
