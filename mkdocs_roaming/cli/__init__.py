"""The `roaming` command.

A command module is imported when its command is used. Packages add commands with entry points of the group
`roaming.commands`.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

import click

from mkdocs_roaming._version import __version__
from mkdocs_roaming.cli.common import EXIT_CODES, FAULTS_FOUND, NOTHING_FOUND, ErrorReportingGroup
from mkdocs_roaming.errors import PluginError, RoamingError, UsageError
from mkdocs_roaming.plugins import entry_point_names, load_entry_point

__all__ = ["FAULTS_FOUND", "NOTHING_FOUND", "main"]

COMMANDS = {
    "ask": ("ask:ask", "Ask a question."),
    "build": ("build:build", "Build a site with its generator, and publish it."),
    "bundle": ("export:bundle", "Write the documentation of a Python package for its package data."),
    "chat": ("chat:chat", "Ask questions in a conversation."),
    "describe": ("describe:describe", "Describe sections in readers' words, with a model."),
    "eval": ("evaluate:evaluate", "Measure answers and search with a set of questions."),
    "expand": ("navigate:expand", "Print sections."),
    "export": ("export:export", "Export a site for other tools, such as an index for AGENTS.md."),
    "function": ("function:function", "Write a function for MCP and Markdown on a static host."),
    "grep": ("navigate:grep", "Print the lines of a site that contain an exact string."),
    "index": ("index:index", "Publish a built site: Markdown, llms.txt and manifest."),
    "init": ("init:init", "Add mkdocs-roaming to a project."),
    "lint": ("lint:lint", "Report content that is hard to navigate."),
    "mcp": ("mcp:mcp", "Serve a site or a store to an agent over MCP."),
    "outline": ("navigate:outline", "Print the collapsed outline, or one branch of it."),
    "preview": ("preview:preview", "Write a page that shows what agents see of a site."),
    "report": ("report:report", "Report what readers asked in vain."),
    "search": ("navigate:search", "Search the sections of a site."),
    "serve": ("serve:serve", "Answer questions over HTTP."),
    "validate": ("index:validate", "Validate a published site."),
    "versions": ("index:versions", "Write the root llms.txt of a site with several versions."),
}
"""Built-in commands: module and attribute below `mkdocs_roaming.cli`, and the summary in `roaming --help`."""

EXTRAS = {"serve": ("httptools", "limits", "starlette", "uvicorn")}
"""Packages that commands need in addition, which belong to the extra with the name of the command."""

COMMAND_GROUP = "roaming.commands"
_MARGINS = 6  # columns of a line of `roaming --help` around the name of a command and its summary


class CommandGroup(ErrorReportingGroup):
    """The built-in commands and those of plugins, imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted({*COMMANDS, *entry_point_names(COMMAND_GROUP)})

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing the built-in ones."""
        width = formatter.width - _MARGINS - max(map(len, self.list_commands(ctx)))
        with formatter.section("Commands"):
            formatter.write_dl([(name, self._summary(ctx, name, width)) for name in self.list_commands(ctx)])

    def _summary(self, ctx: click.Context, name: str, width: int) -> str:
        if name in COMMANDS:
            return COMMANDS[name][1]
        command = self.get_command(ctx, name)
        return command.get_short_help_str(width) if command else ""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command.

        Returns:
            The command; None if there is no such command. A plugin that cannot be loaded becomes a command that
            reports the error, so that `roaming --help` still lists the others.
        """
        if cmd_name in COMMANDS:
            missing = [package for package in EXTRAS.get(cmd_name, ()) if find_spec(package) is None]
            if missing:
                hint = f"needs the package {missing[0]}: pip install 'mkdocs-roaming[{cmd_name}]'"
                return _failed_command(cmd_name, UsageError(f"roaming {cmd_name} {hint}"))
            module, attribute = COMMANDS[cmd_name][0].split(":")
            command: click.Command = getattr(import_module(f"{__name__}.{module}"), attribute)
            return command
        if cmd_name not in entry_point_names(COMMAND_GROUP):
            return None
        try:
            plugin = load_entry_point(COMMAND_GROUP, cmd_name)
            if not isinstance(plugin, click.Command):
                raise PluginError(
                    f"the plugin {cmd_name!r} ({COMMAND_GROUP}) is not a click command; update its package"
                )
        except PluginError as error:
            return _failed_command(cmd_name, error)
        return plugin


def _failed_command(name: str, error: RoamingError) -> click.Command:
    def fail(arguments: tuple[str, ...]) -> None:
        raise error

    arguments = click.Argument(["arguments"], nargs=-1, type=click.UNPROCESSED)
    settings = {"ignore_unknown_options": True}
    return click.Command(name, callback=fail, params=[arguments], help=f"{error}.", context_settings=settings)


@click.group(cls=CommandGroup, epilog=EXIT_CODES, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="roaming")
def main() -> None:
    """Publish a documentation site for language models, navigate it, and ask it questions.

    LIB is a published site: its folder, its URL, or the URL of its manifest. A single Markdown file or its URL, such
    as an llms-full.txt, works as well; so do `installed:`, the documentation in installed packages, and `deps://`, that
    of the dependencies of a project.
    """
