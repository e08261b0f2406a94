"""Options, exit codes, error reporting and output that several commands share."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

import click

from mkdocs_roaming.errors import RoamingError, UsageError

if TYPE_CHECKING:
    from mkdocs_roaming.answer.budget import Budget, SupportMethod
    from mkdocs_roaming.answer.models.base import Model
    from mkdocs_roaming.config import Settings
    from mkdocs_roaming.embeddings.store import EmbeddingsOptions
    from mkdocs_roaming.library.library import Library
    from mkdocs_roaming.library.navigator import Navigator
    from mkdocs_roaming.library.search import Search
    from mkdocs_roaming.library.targets import SiteInfo
    from mkdocs_roaming.manifest.lookup import Scope, SectionRef

F = TypeVar("F", bound=Callable[..., Any])

NOTHING_FOUND = 3
FAULTS_FOUND = 4
EXIT_CODES = """\b
Exit codes:
  0  success
  1  error; the reason is on standard error
  2  invalid command line
  3  nothing found: no search result, no answer
  4  faults found: by validate or a strict lint; a regression in eval
"""

FREE_TEXT = {"ignore_unknown_options": True}  # a question may start with a flag: `--drain-window default`
LIBRARY = click.argument("lib", metavar="LIB")
INSTALLED_DOCS = "installed:"  # library.readers.INSTALLED_SCHEME, whose import takes a while
_CONFIG_FILE = "roaming.toml"  # config.FILE, whose import takes a while
INSTALLED = click.option("--installed", is_flag=True, help="Use the documentation in installed packages as LIB.")
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
TRUST_RULES = click.option("--trust-rules", is_flag=True, help="Apply the rules of a site that is not yours.")
CONFIG = click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="ROAMING_CONFIG",
    show_envvar=True,
    help="Configuration file (default: roaming.toml, if it exists).",
)
WHOLE_SITE_TOKENS = click.option(
    "--whole-site-tokens",
    type=click.IntRange(min=0),
    envvar="ROAMING_WHOLE_SITE_TOKENS",
    show_envvar=True,
    help="Read sites below this size whole; 0 disables it (default: 8000).",
)
SEARCH_OPTION = click.option(
    "--search",
    type=click.Choice(["lexical", "hybrid"]),
    default="lexical",
    show_default=True,
    help="hybrid: also publish embeddings of the model configured in [embeddings].",
)
LLMS_TXT_OPTION = click.option(
    "--llms-txt",
    type=click.Choice(["yes", "no", "preamble"]),
    show_default=False,
    help="Write llms.txt; preamble: below the text of an llms.txt that exists (default: yes).",
)
OVERWRITE_OPTION = click.option("--overwrite", is_flag=True, help="Overwrite files that something else wrote.")

# Text of a page could move the terminal's cursor, change its title, or hide what follows.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class ErrorReportingGroup(click.Group):
    """A command group that reports expected errors on one line instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # lone surrogates cannot be encoded
        try:
            return super().invoke(ctx)
        except RoamingError as error:
            print_error(str(error))
            ctx.exit(1)
        except BrokenPipeError:  # `roaming outline … | head`
            sys.stderr.close()
            ctx.exit(0)
        except OSError as error:
            if error.errno not in _OUTPUT_ERRORS:
                raise
            print_error(f"cannot write the output: {error.strerror}. Free disk space, or write to another place.")
            _discard_output()
            ctx.exit(1)


def sanitize(text: str) -> str:
    """Return text without control characters and direction overrides, except tabs and line feeds."""
    return _CONTROL.sub("", text)


def one_line(text: str) -> str:
    """Return sanitized text on one line, so that it cannot imitate other lines of the output."""
    return sanitize(" ".join(text.split()))


def print_error(message: str) -> None:
    """Print an error on one line of standard error, without control characters of quoted text."""
    click.echo(f"roaming: {one_line(message)}", err=True)


def warn(message: str) -> None:
    """Print a warning on one line of standard error."""
    click.echo(f"Warning: {one_line(message)}", err=True)


def format_age(then: float, now: float | None = None) -> str:
    """Return the time since `then`, in Unix seconds, as `3 hours ago`."""
    seconds = max(0.0, (time.time() if now is None else now) - then)
    for name, length in (("day", 86_400), ("hour", 3_600), ("minute", 60)):
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def print_json(data: Any) -> None:
    """Print indented JSON."""
    click.echo(json.dumps(data, ensure_ascii=False, indent=2))


def model_options(command: F) -> F:
    """Add the options for the model and its budget to a command."""
    options = (
        click.option(
            "--model",
            metavar="MODEL",
            help="claude, claude:MODEL, openai:MODEL (any compatible server), offline, scripted:FILE, or "
            "PLUGIN:MODEL. [env var: ROAMING_MODEL]",
        ),
        click.option("--base-url", metavar="URL", help="URL of the model's server. [env var: ROAMING_BASE_URL]"),
        click.option(
            "--rounds",
            type=click.IntRange(min=1),
            envvar="ROAMING_ROUNDS",
            show_envvar=True,
            help="Maximum number of model calls (default: 4).",
        ),
        click.option(
            "--seconds",
            type=click.FloatRange(min=0, min_open=True),
            envvar="ROAMING_SECONDS",
            show_envvar=True,
            help="Maximum time in seconds (default: 45).",
        ),
        WHOLE_SITE_TOKENS,
        click.option(
            "--support",
            type=click.Choice(["words", "model"]),
            envvar="ROAMING_SUPPORT",
            show_envvar=True,
            help="model: one more call checks each sentence of an answer (default: words).",
        ),
        CONFIG,
    )
    for option in reversed(options):
        command = option(command)
    return command


def scope_options(command: F) -> F:
    """Add the options for the visible part of a site to a command, which gets them as `scope`."""

    @wraps(command)
    def with_scope(*args: Any, tags: tuple[str, ...], paths: tuple[str, ...], version: str | None, **given: Any) -> Any:
        from mkdocs_roaming.manifest.lookup import Scope

        return command(*args, scope=Scope(tags, paths, version), **given)

    options = (
        click.option("--tag", "tags", multiple=True, help="Only pages with this tag. Repeatable: one of the tags."),
        click.option(
            "--path",
            "paths",
            multiple=True,
            metavar="PATTERN",
            help="Only pages with this path, such as guide/**. Repeatable: one of the paths.",
        ),
        click.option("--version", help="Version that the site must have."),
    )
    decorated: Any = with_scope
    for option in reversed(options):
        decorated = option(decorated)
    return cast(F, decorated)


@dataclass(frozen=True, slots=True)
class ResolvedOptions:
    """The options of `model_options`, combined with environment and configuration file."""

    settings: Settings
    model: str | None = None
    base_url: str | None = None
    rounds: int | None = None
    seconds: float | None = None
    whole_site_tokens: int | None = None
    support: SupportMethod | None = None

    @classmethod
    def from_options(cls, given: dict[str, Any]) -> ResolvedOptions:
        """Combine the options of `model_options` with the configuration file that they name."""
        from mkdocs_roaming.config import load_settings

        names = ("model", "base_url", "rounds", "seconds", "whole_site_tokens", "support")
        return cls(load_settings(given["config"]), **{name: given[name] for name in names})

    @property
    def whole_site(self) -> int:
        """Size below which a site is read whole, in estimated tokens."""
        return self.settings.whole_site_tokens if self.whole_site_tokens is None else self.whole_site_tokens

    def navigator(self, library: Library) -> Navigator:
        """Return a navigator with the configured search."""
        from mkdocs_roaming.library.navigator import Navigator

        return Navigator(library, search=self.search_factory()(library))

    def search_factory(self, on_warning: Callable[[str], None] = warn) -> Callable[[Library], Search]:
        """Return the constructor of the configured search, whose indexes are cached.

        Args:
            on_warning: Called with a line when hybrid search falls back to words.
        """
        from mkdocs_roaming.library.index import IndexCache

        return self.settings.search_factory(os.environ, on_warning, IndexCache.from_environment(os.environ))

    def create_model(self, name: str | None = None) -> tuple[Model, Budget]:
        """Create a model and the budget of its answers.

        Args:
            name: The model; None for the selected one.
        """
        model, budget = self.settings.create_model(name or self.model, self.base_url, os.environ)
        if self.settings.budget.cost is not None and budget.cost is None and model.name != "offline":
            warn(f"{self.settings.where} has no prices for {model.name}: its cost is neither shown nor limited")
        support = "words" if model.name == "offline" else self.support or budget.support
        rounds, seconds = self.rounds or budget.rounds, self.seconds or budget.seconds
        return model, replace(budget, rounds=rounds, seconds=seconds, support=support)


def open_lib(lib: str, *, trust_rules: bool = False, scope: Scope | None = None) -> Library:
    """Open the single site that LIB names, or the part of it in a scope."""
    from mkdocs_roaming.library.targets import SiteTarget

    return SiteTarget(lib, trust_rules=trust_rules, scope=scope).library


def find_section(library: Library, address: str) -> SectionRef:
    """Return the section with an id, alias, path or URL.

    Raises:
        UsageError: There is no such section.
    """
    section = library.sections.resolve(address)
    if section is None:
        raise UsageError(f"{library.where}: no section {address!r}; `roaming outline` and `roaming search` list ids")
    return section


def site_as_json(site: SiteInfo | None) -> dict[str, Any]:
    """Return the JSON fields that name a site of a store; none for a single site."""
    return {"site": site.key, "crawled": site.crawled} if site else {}


@contextmanager
def progress(label: str) -> Iterator[Callable[[int], Callable[[], None]]]:
    """Yield a function that starts a progress bar of N steps and returns a function to advance it.

    The bar is shown if standard error is a terminal.
    """
    with ExitStack() as stack:

        def start(count: int) -> Callable[[], None]:
            if not sys.stderr.isatty():
                return lambda: None
            bar = stack.enter_context(click.progressbar(length=count, label=label, file=sys.stderr))
            return lambda: bar.update(1)

        yield start


def foreign_file_options(given: dict[str, Any]) -> dict[str, object]:
    """Return the options `llms_txt` and `overwrite` that are on the command line."""
    options: dict[str, object] = {}
    if given["llms_txt"]:
        options["llms_txt"] = {"yes": True, "no": False}.get(given["llms_txt"], given["llms_txt"])
    return options | ({"overwrite": True} if given["overwrite"] else {})


def embeddings_options(given: dict[str, Any]) -> EmbeddingsOptions | None:
    """Return the embeddings to publish, from the options `--search` and `--config`; None for lexical search.

    Raises:
        UsageError: The configuration names no embedding model.
    """
    if given["search"] == "lexical":
        return None
    from mkdocs_roaming.config import load_settings
    from mkdocs_roaming.embeddings.client import create_embeddings_client
    from mkdocs_roaming.embeddings.store import EmbeddingsOptions

    settings = load_settings(given["config"])
    embeddings = settings.embeddings
    if embeddings is None:
        raise UsageError(
            f"--search hybrid: {settings.where or 'roaming.toml'} configures no embedding model; "
            "add [embeddings] with model and base_url"
        )
    report = partial(click.echo, err=True)
    return EmbeddingsOptions(
        embeddings.model, lambda: create_embeddings_client(embeddings, os.environ), embeddings.text_prefix, report
    )


def search_factory(config: Path | None) -> Callable[[Library], Search]:
    """Return the constructor of the configured search; the first fallback to lexical search prints a warning."""
    if config is None and not Path(_CONFIG_FILE).is_file():
        from mkdocs_roaming.library.index import IndexCache
        from mkdocs_roaming.library.search import Search

        return partial(Search, cache=IndexCache.from_environment(os.environ))
    from mkdocs_roaming.config import load_settings

    return ResolvedOptions(load_settings(config)).search_factory()


def _discard_output() -> None:
    """Redirect standard output to the null device: Python flushes it again at exit and would fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
