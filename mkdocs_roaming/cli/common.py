"""Options, exit codes, error reporting and output that several commands share."""

from __future__ import annotations

import errno
import io
import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from types import UnionType
from typing import Any, Literal, TypeVar, Union, get_args, get_origin

import click

from mkdocs_roaming.errors import RoamingError
from mkdocs_roaming.settings import Setting, list_settings, table_keys

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
INSTALLED_DOCS = "installed:"  # library.installed.SCHEME, whose import takes a while
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


def setting_options(kind: type, *names: str, environment: bool = False) -> Callable[[F], F]:
    """Return a decorator that adds an option to a command for each of the settings of a class.

    An option that is not given is None, or an empty tuple if it is repeatable: the configuration applies, or the
    default, which the help names.

    Args:
        kind: The class.
        names: The settings.
        environment: Whether an option can also be given as a variable such as `ROAMING_ROUNDS`.
    """
    settings = list_settings(kind)

    def decorate(command: F) -> F:
        for name in reversed(names):
            variable = f"ROAMING_{name.upper()}" if environment else None
            command = _make_option(settings[name], envvar=variable, show_envvar=environment)(command)
        return command

    return decorate


def given_settings(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a class that are among the options of a command."""
    return {name: given[name] for name in table_keys(kind) if given.get(name) not in (None, ())}


def _make_option(setting: Setting, **attributes: Any) -> Callable[[F], F]:
    """Return the option for a setting; its values come from the type and the range of the setting."""
    flag, meta, default = f"--{setting.name.replace('_', '-')}", setting.meta, setting.default
    help_text = (meta.description or "").rstrip(".")
    kinds = get_args(setting.type) if get_origin(setting.type) in (Union, UnionType) else (setting.type,)
    words = [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]
    if words:
        flags = {"yes": True, "no": False} if bool in kinds else {}
        attributes["type"] = click.Choice([*words, *flags])
        attributes["callback"] = lambda _context, _option, value: flags.get(value, value)
    elif get_origin(setting.type) is tuple:
        attributes["multiple"], default = True, None
        help_text += ". Repeatable"
    elif isinstance(default, bool):
        flag = f"{flag}/--no-{flag[2:]}"
    elif int in kinds:
        attributes["type"] = click.IntRange(min=None if meta.ge is None else int(meta.ge))
    elif float in kinds:
        attributes["type"] = click.FloatRange(min=meta.gt, min_open=True)
    if default is not None:
        shown = {True: "yes", False: "no"}[default] if isinstance(default, bool) else default
        help_text += f" (default: {shown:g})" if isinstance(shown, float) else f" (default: {shown})"
    return click.option(flag, setting.name, default=None, help=f"{help_text}.", **attributes, **(meta.extra or {}))


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


def _discard_output() -> None:
    """Redirect standard output to the null device: Python flushes it again at exit and would fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
