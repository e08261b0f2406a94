"""`roaming serve`."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import anyio
import click
from click.core import ParameterSource

from mkdocs_roaming.cli.common import FOLDER, LIBRARY, TRUST_RULES, setting_options
from mkdocs_roaming.cli.session import ResolvedOptions, model_options
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.targets import open_library, open_target
from mkdocs_roaming.manifest.io import MANIFEST_PATH
from mkdocs_roaming.serve.app import (
    AppConfig,
    ServeTable,
    build_config,
    check_endpoint,
    create_app,
    describe_names,
    require_money_limit,
)
from mkdocs_roaming.serve.log import strip_passwords
from mkdocs_roaming.serve.requests import MAX_PORT
from mkdocs_roaming.serve.server import bind_socket, freeze_objects, get_url, run_server
from mkdocs_roaming.serve.service import AnswerConfig
from mkdocs_roaming.text.markdown import to_single_line

_log = logging.getLogger("mkdocs_roaming.serve")
_OPEN_SITES = 16  # number of sites of a store whose search index stays in memory
_SINGLE_SITE_OPTIONS = ("site", "model", "base_url", "rounds", "seconds", "whole_site_tokens", "trust_rules")


@click.command()
@LIBRARY
@click.option("--host", envvar="ROAMING_HOST", default="127.0.0.1", show_default=True, help="Address to listen on.")
@click.option(
    "--port",
    envvar="ROAMING_PORT",
    type=click.IntRange(0, MAX_PORT),
    default=8000,
    show_default=True,
    help="Port; 0 selects a free one.",
)
@click.option(
    "--site",
    type=FOLDER,
    help="Also serve this built site; with `Accept: text/markdown` its Markdown.",
)
@click.option("--allow-host", "hosts", multiple=True, envvar="ROAMING_HOSTS", help="Additional host name. Repeatable.")
@click.option(
    "--allow-origin", "origins", multiple=True, envvar="ROAMING_ORIGINS", help="Origin whose pages may ask. Repeatable."
)
@setting_options(ServeTable, "proxies", "metrics", environment=True)
@click.option(
    "--money-a-day",
    metavar="AMOUNT",
    envvar="ROAMING_MONEY_A_DAY",
    show_envvar=True,
    help="What all answers of a day may cost, or unlimited. Prices of common models are known.",
)
@model_options
@TRUST_RULES
@click.option("--check", is_flag=True, help="Check site, model, key and counters, and exit. Asks the model.")
def serve(lib: str, host: str, port: int, check: bool, **given: Any) -> None:
    """Answer questions over HTTP.

    LIB can be the URL of a published site. A new deployment is noticed within a minute. API keys are read from the
    environment; ROAMING_KEY signs the context of follow-up questions. For a store, sites are listed, searched and
    opened, also by agents; questions are answered for single sites only.
    """
    options = ResolvedOptions.from_options(given)
    model, budget = options.create_model(checks_only=check)
    _check_path(lib)
    answers = AnswerConfig(model, budget, options.search_factory(_warn, prepare=True))
    config = build_config(lib, answers, options.settings, os.environ, given, host=host)
    target = open_target(
        lib, search=answers.search_factory, open_sites=_OPEN_SITES, refresh_seconds=config.serve.look_every
    )
    store = target.store
    create = store.create_app if store else create_app
    if store:
        _refuse_site_options(lib)
    if check:
        create(config)
        click.echo(f"ok      configuration: {options.settings.where or 'without a file'}")
        if not store:
            anyio.run(_check, config)
        return
    if not store:
        require_money_limit(config)
        _check_manifest(lib)
    with bind_socket(host, port) as listener:
        config = replace(config, address=get_url(listener), on_change=freeze_objects)
        app = create(config)
        handler = logging.StreamHandler()
        handler.setFormatter(_LineFormatter("%(asctime)s %(message)s", "%Y-%m-%d %H:%M:%S"))
        logging.basicConfig(level=logging.WARNING, handlers=[handler])
        logging.getLogger("mkdocs_roaming").setLevel(logging.INFO)
        if store:
            names = describe_names(config.policy)
            _log.info("serving the store %s at %s; %s", lib, config.address, names)
        run_server(app, listener, drain_seconds=config.drain)


class _LineFormatter(logging.Formatter):
    """Formats messages, which may contain text of a site, on one line."""

    def formatMessage(self, record: logging.LogRecord) -> str:  # noqa: N802 -- the name in `logging`
        return to_single_line(super().formatMessage(record))


async def _check(config: AppConfig) -> None:
    """Print the result of each check. Raise UsageError if one has failed."""
    failed = []
    async for result in check_endpoint(config):
        verdict = "ok" if result.ok else "failed"
        click.echo(f"{verdict:<8}{to_single_line(result.name)}: {to_single_line(result.detail)}")
        if not result.ok:
            failed.append(result.name)
    if failed:
        raise UsageError(f"the endpoint cannot work: {', '.join(failed)}")


def _refuse_site_options(lib: str) -> None:
    """Raise UsageError for command-line options that configure answers of a single site.

    Configuration file and environment are shared with other endpoints and are not checked.
    """
    context = click.get_current_context()
    for name in _SINGLE_SITE_OPTIONS:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            raise UsageError(f"--{option}: applies to a single site; serve {lib}/SITE instead")


def _check_path(lib: str) -> None:
    """Raise UsageError for a missing folder; a URL may become available later."""
    try:
        urlsplit(lib)
    except ValueError as error:
        raise UsageError(f"{strip_passwords(lib)}: invalid URL ({error})") from None
    if "://" not in lib and not Path(lib).exists():
        raise UsageError(f"{lib}: no such folder or file; check the path; a URL starts with https://")


def _check_manifest(lib: str) -> None:
    """Raise LibraryError for a folder without a manifest that no plugin can read either."""
    if Path(lib).is_dir() and not Path(lib, MANIFEST_PATH).is_file():
        open_library(lib)


def _warn(line: str) -> None:
    _log.warning("%s", strip_passwords(line))
