"""What the commands share: arguments, exit codes, errors in one line, JSON, progress."""

from __future__ import annotations

import errno
import io
import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from mkdocs_roaming.errors import RoamingError, UsageError

if TYPE_CHECKING:
    from mkdocs_roaming.embeddings.store import EmbeddingsOptions
    from mkdocs_roaming.library.library import Library
    from mkdocs_roaming.library.search import Finder
    from mkdocs_roaming.library.targets import SiteInfo
    from mkdocs_roaming.manifest.lookup import SectionRef


NOTHING_FOUND = 3


FAULTS_FOUND = 4


EXIT_CODES = """\b
Exit codes:
  0  done
  1  it could not be done; the reason is on standard error
  2  the command line is wrong
  3  nothing found: no hit, no answer
  4  validate or a strict lint found faults, replay or diff a difference, eval what was found before and no longer is
"""


FREE_TEXT = {"ignore_unknown_options": True}  # questions begin with flags at times: `--drain-window default`


LIBRARY = click.argument("lib", metavar="LIB")


AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")


TRUST_RULES = click.option("--trust-rules", is_flag=True, help="Follow the rules of a site that is somebody else's.")


class Commands(click.Group):
    """A group whose commands end in one line where a user's mistake or a broken site stops them."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(
                stream, io.TextIOWrapper
            ):  # what it has no bytes for, half a character say, is no reason to stop
                stream.reconfigure(errors="replace")
        try:
            return super().invoke(ctx)
        except RoamingError as error:
            _tell(str(error))
            ctx.exit(1)
        except BrokenPipeError:  # `roaming outline … | head`
            sys.stderr.close()
            ctx.exit(0)
        except OSError as error:
            if error.errno not in _NO_ROOM:
                raise
            _tell(f"cannot write the output ({error.strerror}); make room, or write elsewhere")
            _discard_output()
            ctx.exit(1)


_NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


def _tell(error: str) -> None:
    """Print an error on one line; it may quote what a site or a file holds, which must not steer the terminal."""
    from mkdocs_roaming.cli.output import one_line

    click.echo(f"roaming: {one_line(error)}", err=True)


def _discard_output() -> None:
    """Keep Python from writing at its end what could not be written before."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def open_lib(lib: str, *, trust_rules: bool = False) -> Library:
    """Open the one site that LIB names."""
    from mkdocs_roaming.library.library import open_library

    library = open_library(lib)
    library.trusted = library.trusted or trust_rules
    return library


def find_section(library: Library, address: str) -> SectionRef:
    """Give the section that an id, an alias, a path or a URL names; raises UsageError where there is none."""
    place = library.sections.resolve(address)
    if place is None:
        raise UsageError(f"{library.where}: no section {address!r}; `roaming outline` and `roaming search` give ids")
    return place


def hit_as_json(library: Library, place: SectionRef, score: float, snippet: str) -> dict[str, Any]:
    """Give a hit as JSON has it."""
    return {
        "id": place.id,
        "title": place.section.title,
        "breadcrumb": library.sections.breadcrumb(place),
        "url": library.sections.url(place),
        "score": round(score, 4),
        "snippet": snippet,
    }


def site_as_json(site: SiteInfo | None) -> dict[str, Any]:
    """Return the JSON fields that name a site of a store; none for a single site."""
    return {"site": site.key, "crawled": site.crawled} if site else {}


def print_json(data: Any) -> None:
    """Print JSON, as people and programs read it."""
    click.echo(json.dumps(data, ensure_ascii=False, indent=2))


def warn(message: str) -> None:
    """Print a warning on standard error."""
    from mkdocs_roaming.cli.output import one_line

    click.echo(f"Warning: {one_line(message)}", err=True)


@contextmanager
def progress(label: str) -> Iterator[Callable[[int], Callable[[], None]]]:
    """Give what shows a progress bar on a terminal, and nothing where standard error is none."""
    bars: list[Any] = []

    def steps(count: int) -> Callable[[], None]:
        if not sys.stderr.isatty():
            return lambda: None
        bar = click.progressbar(length=count, label=label, file=sys.stderr)
        bars.append(bar)
        bar.__enter__()
        return lambda: bar.update(1)

    try:
        yield steps
    finally:
        for bar in bars:
            bar.__exit__(None, None, None)


# MERGED mkdocs_roaming.cli.meaning:
# What the commands share of search by meaning: whose vectors are published, and how is searched.


SEARCH_OPTION = click.option(
    "--search",
    type=click.Choice(["lexical", "hybrid"]),
    default="lexical",
    show_default=True,
    help="hybrid: publish vectors too, made by the model that [embeddings] of the settings names.",
)


def embeddings_options(given: dict[str, Any]) -> EmbeddingsOptions | None:
    """Give whose vectors are published, as the options `--search` and `--config` say."""
    if given["search"] == "lexical":
        return None
    from mkdocs_roaming.config import load_settings
    from mkdocs_roaming.embeddings.client import create_embeddings_client
    from mkdocs_roaming.embeddings.store import EmbeddingsOptions

    settings = load_settings(given["config"])
    embeddings = settings.embeddings
    if embeddings is None:
        raise UsageError(
            f"--search hybrid: {settings.where or 'roaming.toml'} names no model that makes vectors; "
            "add [embeddings] with model and base_url"
        )
    tell = partial(click.echo, err=True)
    return EmbeddingsOptions(
        embeddings.model, lambda: create_embeddings_client(embeddings, os.environ), embeddings.text_prefix, tell
    )


def search_factory(config: Path | None) -> Callable[[Library], Finder]:
    """Give what makes the search of a library, as the settings say; once it goes by words alone, a warning says why."""
    from mkdocs_roaming.config import load_settings

    return load_settings(config).finding(os.environ, warn)
