"""Print the size of the code, and exit with 1 where a figure is above its limit in size.toml.

    python benchmarks/size.py

nodes        nodes of the syntax trees of all packages
statement    nodes per statement
parallel     assignments `a, b = c, d` per 1,000 statements
regexes      calls of functions of `re`
commands, options    what the command line has

A limit rises only in a commit that names the feature for it, and what was deleted in exchange.
"""

from __future__ import annotations

import ast
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import click

from mkdocs_roaming.cli import main as roaming

ROOT = Path(__file__).parents[1]
LIMITS = Path(__file__).with_suffix(".toml")


def list_nodes() -> Iterator[ast.AST]:
    """Yield the syntax nodes of all modules of the packages."""
    for package in [ROOT / "mkdocs_roaming", *(file.parent for file in ROOT.glob("crawler/*/__init__.py"))]:
        for module in package.rglob("*.py"):
            yield from ast.walk(ast.parse(module.read_text("utf-8")))


def is_parallel(node: ast.AST) -> bool:
    """Return whether a node assigns one tuple of values to one tuple of names."""
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)


def is_regex(node: ast.AST) -> bool:
    """Return whether a node is a call such as `re.compile(…)`."""
    function = node.func if isinstance(node, ast.Call) else None
    return isinstance(function, ast.Attribute) and ast.unparse(function.value) == "re"


def list_commands(command: click.Command) -> Iterator[click.Command]:
    """Yield a command, or the commands of a group."""
    if isinstance(command, click.Group):
        for name in command.list_commands(click.Context(command)):
            yield from list_commands(command.get_command(click.Context(command), name) or command)
    else:
        yield command


def measure() -> dict[str, float]:
    """Return the figures by name."""
    nodes = list(list_nodes())
    statements = sum(isinstance(node, ast.stmt) for node in nodes)
    commands = list(list_commands(roaming))
    return {
        "nodes": len(nodes),
        "statement": round(len(nodes) / statements, 1),
        "parallel": round(1000 * sum(map(is_parallel, nodes)) / statements, 1),
        "regexes": sum(map(is_regex, nodes)),
        "commands": len(commands),
        "options": sum(isinstance(option, click.Option) for command in commands for option in command.params),
    }


def main() -> int:
    """Print the figures beside their limits; return the exit code."""
    limits = tomllib.loads(LIMITS.read_text("utf-8"))
    figures = measure()
    for name, figure in figures.items():
        print(f"{name:<10}{figure:>10,}  limit {limits[name]:,}{'  EXCEEDED' if figure > limits[name] else ''}")
    return int(any(figure > limits[name] for name, figure in figures.items()))


if __name__ == "__main__":
    sys.exit(main())
