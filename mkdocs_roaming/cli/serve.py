"""`roaming serve`: the answer endpoint."""

from __future__ import annotations

import logging
import os
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import click
from click.core import ParameterSource

from mkdocs_roaming.cli.ask import model_options, resolve_options
from mkdocs_roaming.cli.common import LIBRARY, TRUST_RULES
from mkdocs_roaming.errors import UsageError

if TYPE_CHECKING:
    from mkdocs_roaming.serve.middleware import ASGIApp

_OPEN = 16
"""Sites of a store whose search stays in memory."""
_OF_ONE_SITE = ("site", "model", "base_url", "rounds", "seconds", "whole_site_tokens", "trust_rules")


@click.command()
@LIBRARY
@click.option("--host", envvar="ROAMING_HOST", default="127.0.0.1", show_default=True, help="The address to listen on.")
@click.option(
    "--port", envvar="ROAMING_PORT", type=click.IntRange(0, 65535), default=8000, show_default=True, help="0: any."
)
@click.option(
    "--site",
    type=click.Path(file_okay=False, path_type=Path),
    help="Serve this built site, too; with `Accept: text/markdown` its Markdown.",
)
@click.option(
    "--allow-host", "hosts", multiple=True, envvar="ROAMING_HOSTS", help="Answer to this name, too. May be repeated."
)
@click.option(
    "--allow-origin", "origins", multiple=True, envvar="ROAMING_ORIGINS", help="Pages of this site may ask, too."
)
@click.option(
    "--proxies", type=click.IntRange(min=0), envvar="ROAMING_PROXIES", help="How many servers of ours stand in front."
)
@model_options
@TRUST_RULES
@click.option("--check-config", is_flag=True, help="Print what is configured, without secrets, and end.")
def serve(lib: str, check_config: bool, **given: Any) -> None:
    """Answer questions over HTTP.

    LIB may be the address of a published site; nothing else of it is needed. A new deployment is noticed within a
    minute. Keys are taken from the environment alone; ROAMING_KEY signs what follow-ups refer to. A store of many
    sites is listed, searched and opened, by agents too; questions are answered from one site.
    """
    _check_packages()
    from mkdocs_roaming.library.targets import open_target
    from mkdocs_roaming.serve._uvicorn import freeze_objects, run_server
    from mkdocs_roaming.serve.app import create_app
    from mkdocs_roaming.serve.config import ServeOptions, build_config, format_config
    from mkdocs_roaming.serve.service import AnswerConfig

    own = {name: given.pop(name) for name in ("host", "port", "site", "hosts", "origins", "proxies", "trust_rules")}
    options = resolve_options(given)
    model, budget = options.answering()
    _check_path(lib)
    way = AnswerConfig(model, budget, options.whole_site, options.settings.finding(os.environ, _warn))
    configured = build_config(ServeOptions(lib, **own), way, options.settings, os.environ)
    target = open_target(lib, search=way.finding, open_sites=_OPEN, refresh_seconds=configured.serving.every)
    app: ASGIApp
    if target.store is None:
        app = create_app(replace(configured.serving, taken=freeze_objects))
    else:
        _refuse_site_options(lib)
        app = target.store.create_app(configured.serving.policy, key=configured.serving.key)
    if check_config:
        for line in format_config(configured, options.settings, os.environ, answers=target.store is None):
            click.echo(line)
        return
    _log_to_standard_error()
    patience = configured.serving.policy.header_seconds
    run_server(app, configured.host, configured.port, drain=configured.drain, header_seconds=patience)


def _refuse_site_options(lib: str) -> None:
    """Raise UsageError for options on the command line that configure the answers of one site.

    In settings and environment they may be meant for other endpoints that read the same.
    """
    context = click.get_current_context()
    for name in _OF_ONE_SITE:
        if context.get_parameter_source(name) is ParameterSource.COMMANDLINE:
            option = name.replace("_", "-")
            raise UsageError(f"--{option}: is about answers from one site; serve {lib}/SITE with it")


def _check_packages() -> None:
    missing = [name for name in ("limits", "starlette", "uvicorn") if find_spec(name) is None]
    if missing:
        raise UsageError(f"serving needs the package {missing[0]}; pip install 'mkdocs-roaming[serve]'")


def _check_path(lib: str) -> None:
    """Refuse a folder that isn't there: an address may come up later, a mistyped path will not."""
    from mkdocs_roaming.serve.redaction import strip_passwords

    try:
        urlsplit(lib)
    except ValueError as error:
        raise UsageError(f"{strip_passwords(lib)}: no address ({error})") from None
    if "://" not in lib and not Path(lib).exists():
        raise UsageError(f"{lib}: no such folder or file; check the path; an address begins with https://")


def _warn(line: str) -> None:
    from mkdocs_roaming.serve.redaction import strip_passwords

    logging.getLogger("mkdocs_roaming.serve").warning("%s", strip_passwords(line))


def _log_to_standard_error() -> None:
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(message)s", datefmt="%Y-%m-%d %H:%M:%S")
    logging.getLogger("mkdocs_roaming").setLevel(logging.INFO)
