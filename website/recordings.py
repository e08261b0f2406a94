"""MkDocs hooks: the answers that the panel of this site plays, recorded in each build.

The loop, the search, the citations and the support check are real, and run on the pages that were just built. The
replies of the model are in recordings.yml. During `mkdocs serve`, and in `make demo` with a model, an endpoint answers.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import anyio
import click
import msgspec
import yaml
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.plugins import event_priority

from mkdocs_roaming._json import encode_json
from mkdocs_roaming._mkdocs import dev_server_path
from mkdocs_roaming.answer.budget import Budget
from mkdocs_roaming.answer.models.scripted import ScriptedModel, parse_script
from mkdocs_roaming.answer.results import Offline
from mkdocs_roaming.config import load_settings
from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.serve.conversation_token import TokenSigner
from mkdocs_roaming.serve.deployments import LocalizedSite, SiteWatcher
from mkdocs_roaming.serve.schemas import Question
from mkdocs_roaming.serve.service import AnswerConfig, AnswerService

FILE = Path(__file__).with_suffix(".yml")
MODEL = "recording"
OFFLINE = Offline().name
DEMO = "ROAMING_DEMO"
"""The variable that `make demo` sets."""
NO_MODEL = (
    "recorded answers, and sections that fit, without a model. For answers set ANTHROPIC_API_KEY, or ROAMING_MODEL and "
    "ROAMING_BASE_URL of a local server"
)

_log = logging.getLogger("mkdocs.plugins.recordings")


class Recording(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """A question, the replies of the model, and the digests of the cited sections when they were written."""

    ask: str
    cited: dict[str, str]
    replies: list[Any]


def read_recordings() -> list[Recording]:
    """Return the recordings of recordings.yml."""
    return msgspec.convert(yaml.safe_load(FILE.read_text("utf-8")), list[Recording])


async def play(recording: Recording, site_dir: Path) -> AsyncIterator[dict[str, Any]]:
    """Yield the parts of the stream that the endpoint sends for a recording."""
    site = LocalizedSite(SiteWatcher(site_dir), SiteWatcher)
    await site.check()
    model = ScriptedModel(parse_script(msgspec.json.encode(recording.replies)), name=MODEL)
    request = AnswerService(site, AnswerConfig(model, Budget()), TokenSigner(os.urandom(32))).open(
        Question(text=recording.ask)
    )
    try:
        async with aclosing(request.parts()) as parts:
            async for part in parts:
                yield part
    finally:
        request.close()


def find_changed(recording: Recording, site_dir: Path) -> list[str]:
    """Return the ids of cited sections that are not as they were when the answer was written."""
    sections = open_library(site_dir).sections
    found = {id_: sections.get(id_) for id_ in recording.cited}
    return [id_ for id_, ref in found.items() if ref is None or ref.section.digest != recording.cited[id_]]


@event_priority(1)  # before the plugin reads its options
def on_config(config: MkDocsConfig) -> None:
    """Replace the recordings by the endpoint of the server that shows this build, if it has one."""
    has_endpoint = bool(dev_server_path(config))
    if DEMO in os.environ:
        try:
            model, _ = load_settings().create_model(None, None, os.environ)
        except UsageError as error:
            raise PluginError(str(error)) from None
        has_endpoint = model.name != OFFLINE
        click.echo(f"Questions: {f'{model.name} answers' if has_endpoint else NO_MODEL}.")
    if has_endpoint:
        widget = config.plugins["roaming"].config["widget"]
        widget["endpoint"] = "/"
        del widget["strings"]  # they speak of recordings


@event_priority(-1001)  # after the plugin, which publishes the site last of all
def on_post_build(config: MkDocsConfig) -> None:
    """Write the recordings into the site."""
    site_dir = Path(config.site_dir)

    async def record() -> dict[str, list[dict[str, Any]]]:
        return {one.ask: [part async for part in play(one, site_dir)] for one in recordings}

    recordings = read_recordings()
    for recording in recordings:
        if changed := find_changed(recording, site_dir):
            _log.warning(f"{FILE.name}: {recording.ask!r} cites {', '.join(changed)}, which changed; read it again")
    (site_dir / "assets/recordings.json").write_bytes(encode_json(anyio.run(record)))
