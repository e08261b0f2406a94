"""Names that a solution uses although nothing has them."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from types import ModuleType

_WORD = re.compile(r"[^\W\d]\w*")


def find_invented(solution: str, package: str, known_text: str) -> list[str]:
    """Return the names of a solution that neither the library nor Python has.

    Names are what is imported from the package, attributes, and keywords of calls. Known are all words of the library's
    source, its documentation and the task, what the solution itself defines, and the names of built-in types and of
    those modules of the standard library that it imports, and of the modules in them.

    Args:
        solution: The code of the solution.
        package: The name of the library's package.
        known_text: The library's source and documentation, and the statement of the task.

    Returns:
        The names in alphabetical order; empty if the solution is not valid Python.
    """
    try:
        tree = ast.parse(solution)
    except SyntaxError:
        return []
    modules = {name for name in _iter_imports(tree) if name.partition(".")[0] in sys.stdlib_module_names}
    known = {package, *_WORD.findall(known_text), *_iter_defined(tree), *_iter_names(builtins)}
    known.update(name for module in modules for name in _iter_names(import_module(module)))
    return sorted({name for name in _iter_used(tree, package) if name not in known})


def _iter_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _iter_used(tree: ast.AST, package: str) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == package:
            yield from (node.module or "").split(".")
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.Attribute):
            yield node.attr
        elif isinstance(node, ast.keyword) and node.arg:
            yield node.arg


def _iter_defined(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.arg):
            yield node.arg
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
            yield node.attr


def _iter_names(module: ModuleType, *, nested: bool = True) -> Iterator[str]:
    for name, value in vars(module).items():
        yield name
        if inspect.ismodule(value) and nested:
            yield from _iter_names(value, nested=False)
        for kind in value.__mro__ if inspect.isclass(value) else ():
            yield from vars(kind)
        for function in (value, *(vars(value).values() if inspect.isclass(value) else ())):
            if callable(function):
                yield from _iter_parameters(function)


def _iter_parameters(function: object) -> Iterator[str]:
    try:
        yield from inspect.signature(function).parameters  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return
