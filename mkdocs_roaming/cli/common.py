"""Options, exit codes, error reporting and output that several commands share."""

from __future__ import annotations

import errno
import io
import json
import os
import shlex
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from itertools import takewhile
from pathlib import Path
from types import FrameType, UnionType
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin

import click

from mkdocs_roaming.errors import RoamingError, UsageError, explain_os_error
from mkdocs_roaming.settings import MAX_NUMBER, Setting, list_settings
from mkdocs_roaming.text.markdown import CONTROL, to_single_line

F = TypeVar("F", bound=Callable[..., Any])

NOTHING_FOUND = 3
FAULTS_FOUND = 4
SIGNAL_EXIT = 128
"""Added to the number of a signal, it is the exit code of a process that the signal ended."""
EXIT_CODES = """\b
Exit codes:
  0  success
  1  error; the reason is on standard error
  2  invalid command line
  3  nothing found: no search result, no answer
  4  faults found: by validate or a strict lint; a regression in eval; missing descriptions
"""

FREE_TEXT = {"ignore_unknown_options": True}  # a question may start with a flag: `--drain-window default`
FILE = click.Path(dir_okay=False, path_type=Path)
FOLDER = click.Path(file_okay=False, path_type=Path)
LIBRARY = click.argument("lib", metavar="LIB")
INSTALLED_DOCS = "installed:"  # library.readers.INSTALLED_SCHEME, whose import takes a while
_LIBRARY_OPTIONS = {
    "--deps": "Use the documentation of the project's dependencies as LIB.",
    "--installed": "Use the documentation in installed packages as LIB.",
    "--skip-flagged": "With --deps: leave out sections that the crawl flagged as suspicious.",
}
AS_JSON = click.option("--json", "as_json", is_flag=True, help="Print JSON.")
TRUST_RULES = click.option("--trust-rules", is_flag=True, help="Apply the rules of a site that is not yours.")
CONFIG = click.option(
    "--config",
    type=FILE,
    envvar="ROAMING_CONFIG",
    show_envvar=True,
    help="Configuration file (default: roaming.toml, if it exists).",
)
CONFIG_FILE = click.option(
    "--config-file",
    type=FILE,
    metavar="FILE",
    help="Configuration of the site: zensical.toml, mkdocs.yml or roaming.toml (default: that of the project).",
)


_OUTPUT_ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)
_UNITS = {"day": 86_400, "hour": 3_600, "minute": 60}  # units of an age, in seconds
_AGE_UNITS = {"s": 1, "m": 60, "h": 3_600, "d": 86_400, "w": 604_800}
_MAX_AGE_CHARS = 6


def combine_options(*options: Callable[[F], F]) -> Callable[[F], F]:
    """Return a decorator that adds several options to a command, in this order."""

    def decorate(command: F) -> F:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


class LibraryCommand(click.Command):
    """A command whose first argument is LIB, which an option can set instead."""

    def __init__(self, *arguments: Any, **attributes: Any) -> None:
        """Create the command and its options."""
        super().__init__(*arguments, **attributes)
        make_option = partial(click.Option, is_flag=True, expose_value=False)
        self.params[1:1] = [make_option([name], help=text) for name, text in _LIBRARY_OPTIONS.items()]

    def insert_library(self, args: list[str]) -> list[str]:
        """Return the arguments with the library of an option before the others."""
        given = {name for name in takewhile("--".__ne__, args) if name in _LIBRARY_OPTIONS}
        if {"--deps", "--installed"} <= given:
            raise click.UsageError("--deps and --installed exclude each other")
        if "--skip-flagged" in given and "--deps" not in given:
            raise click.UsageError("--skip-flagged needs --deps")
        deps = "deps://?skip-flagged" if "--skip-flagged" in given else "deps://"
        return [deps if "--deps" in given else INSTALLED_DOCS, *args] if given else args

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse the arguments."""
        return super().parse_args(ctx, self.insert_library(args))


class ErrorReportingGroup(click.Group):
    """A command group that reports expected errors on one line instead of a traceback."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):
                stream.reconfigure(errors="replace")  # lone surrogates cannot be encoded
        if sys.stdout is None:
            print_error("standard output is closed; redirect it to a file, or to /dev/null")
            ctx.exit(1)
        try:
            with handle_signals(_interrupt):
                return super().invoke(ctx)
        except RoamingError as error:
            print_error(str(error))
            ctx.exit(1)
        except BrokenPipeError:  # `roaming outline … | head`
            sys.stderr.close()
            ctx.exit(0)
        except OSError as error:
            if error.filename is None:
                if error.errno not in _OUTPUT_ERRORS:
                    raise
                _discard_output()
            print_error(explain_os_error(error))
            ctx.exit(1)


@contextmanager
def handle_signals(handle: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    """Handle SIGTERM and SIGHUP, if they are not ignored."""
    numbers = [getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name)]
    before = {number: signal.getsignal(number) for number in numbers}
    if threading.current_thread() is not threading.main_thread():
        before = {}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:  # set by nohup
            signal.signal(number, handle)
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _interrupt(number: int, frame: FrameType | None) -> None:
    """Do what Ctrl-C does at the moment, so that a command stops in order, and says how to resume it.

    A shell may ignore Ctrl-C itself for a command in the background.
    """
    if number != signal.SIGTERM:
        signal.signal(number, signal.SIG_IGN)  # the shell and the system both report a closed terminal
    handler = signal.getsignal(signal.SIGINT)
    (handler if callable(handler) else signal.default_int_handler)(number, frame)


def check_order(lib: str, text: str) -> None:
    """Raise UsageError if LIB does not exist and the text behind it does: they are swapped."""
    if ":" not in lib and not Path(lib).exists() and ("://" in text or Path(text).is_dir()):
        command = f"roaming {click.get_current_context().info_name}"
        raise UsageError(f"{lib}: no such folder; LIB comes first: {command} {shlex.quote(text)} {shlex.quote(lib)}")


def print_error(message: str) -> None:
    """Print an error on one line of standard error, without control characters of quoted text."""
    click.echo(f"roaming: {to_single_line(message)}", err=True)


def warn(message: str) -> None:
    """Print a warning on one line of standard error."""
    click.echo(f"Warning: {to_single_line(message)}", err=True)


def format_age(then: float, now: float | None = None) -> str:
    """Return the time since `then`, in Unix seconds, as `3 hours ago`."""
    seconds = max(0.0, (time.time() if now is None else now) - then)
    for name, length in _UNITS.items():
        if seconds >= length:
            count = int(seconds // length)
            return f"{count} {name}{'s' if count > 1 else ''} ago"
    return "just now"


def parse_age(text: str) -> float | None:
    """Return the seconds of an age such as `7d`; None if it is none."""
    number = text.strip()[:-1].rstrip()
    unit = _AGE_UNITS.get(text.strip()[-1:])
    is_number = number.replace(".", "", 1).isdecimal() and len(number) <= _MAX_AGE_CHARS
    return float(number) * unit if unit and is_number else None


def read_age(_context: click.Context, _option: click.Parameter, value: str | None) -> float | None:
    """Return the seconds of an option that is an age (a callback of click)."""
    age = parse_age(value) if value else None
    if value and age is None:
        raise click.BadParameter(f"{value}: give a number and s, m, h, d or w: 7d")
    return age


def print_json(data: Any) -> None:
    """Print indented JSON."""
    text = json.dumps(data, ensure_ascii=False, indent=2)
    click.echo(CONTROL.sub(lambda control: control[1] or json.dumps(control[0])[1:-1], text))


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
    options = []
    for name in names:
        setting = settings[name]
        attributes = _accept_values(setting)
        flag = f"--{setting.option.replace('_', '-')}"
        default = setting.default
        if isinstance(default, bool):
            flag = flag if attributes else f"{flag}/--no-{flag[2:]}"
            default = "yes" if default else "no"
        help_text = (setting.meta.description or "").rstrip(".")
        if attributes.get("multiple"):
            help_text += ". Repeatable"
        elif isinstance(default, (str, int, float)) and default != "":
            help_text += f" (default: {default:g})" if isinstance(default, float) else f" (default: {default})"
        attributes |= setting.meta.extra or {}
        attributes.pop("option", None)
        if environment:
            attributes |= {"envvar": f"ROAMING_{name.upper()}", "show_envvar": True}
        options.append(click.option(flag, setting.option, default=None, help=f"{help_text}.", **attributes))
    return combine_options(*options)


def given_settings(kind: type, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a class that are among the options of a command."""
    settings = list_settings(kind).values()
    return {setting.name: given[setting.option] for setting in settings if given.get(setting.option) not in (None, ())}


def _accept_values(setting: Setting) -> dict[str, Any]:
    """Return the attributes of an option that accepts the values of a setting; none for a text or a flag."""
    meta = setting.meta
    kinds = [setting.type]
    if get_origin(setting.type) in (Union, UnionType):
        kinds = list(get_args(setting.type))
    if get_origin(setting.type) is tuple:
        return {"multiple": True}
    if words := [word for kind in kinds if get_origin(kind) is Literal for word in get_args(kind)]:
        flags = {"yes": True, "no": False} if bool in kinds else {}
        choice = click.Choice([*words, *flags])
        return {"type": choice, "callback": lambda _context, _option, value: flags.get(value, value)}
    most = meta.le if meta.le and meta.le < MAX_NUMBER else None
    if int in kinds:
        return {"type": click.IntRange(cast(int, meta.ge), cast(int, most))}
    if float in kinds:
        least = meta.ge if meta.gt is None else meta.gt
        return {"type": click.FloatRange(least, most, min_open=meta.gt is not None)}
    return {}


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


def _discard_output() -> None:
    """Redirect standard output to the null device: Python flushes it again at exit and would fail again."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
