"""Names that a solution uses although nothing has them."""

from __future__ import annotations

import ast
import builtins
import inspect
import re
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from types import ModuleType

_WORD = re.compile(r"[^\W\d]\w*")


def find_invented(solution: str, package: str, sources: Path, known_text: str = "") -> list[str]:
    """Return the names of a solution that neither the library nor Python has.

    What is imported from the package, and attributes of the package, have to be defined there. Other attributes and the
    keywords of calls may be any word of the library's source, its documentation and the task, of built-in types and of
    the modules of the standard library that the solution imports, or what the solution itself defines.

    Args:
        solution: The code of the solution.
        package: The name of the library's package.
        sources: The folder that has the package.
        known_text: Its documentation, and the statement of the task.

    Returns:
        The names in alphabetical order; empty if the solution is not valid Python.
    """
    try:
        tree = ast.parse(solution)
    except SyntaxError:
        return []
    source = "\n".join(file.read_text("utf-8") for file in (sources / package).rglob("*.py"))
    modules = {name for name in _iter_imports(tree) if name.partition(".")[0] in sys.stdlib_module_names}
    known = {*_WORD.findall(source + known_text), *_iter_defined(tree), *_iter_words(builtins)}
    known.update(word for module in modules for word in _iter_words(import_module(module)))
    strange = {name for name in _iter_used(tree) if name not in known}
    return sorted(
        strange | {name for name, module in _iter_from_package(tree, package) if not _has(module, name, sources)}
    )


def _iter_imports(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module


def _iter_from_package(tree: ast.AST, package: str) -> Iterator[tuple[str, str]]:
    """Yield each name that is taken from a module of the package, and the module."""
    aliases: dict[str, str] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            own = (alias for alias in node.names if alias.name.partition(".")[0] == package)
            aliases.update({alias.asname or package: alias.name if alias.asname else package for alias in own})
        elif isinstance(node, ast.ImportFrom) and (node.module or "").partition(".")[0] == package:
            yield from ((alias.name, node.module or "") for alias in node.names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id in aliases:
            yield node.attr, aliases[node.value.id]


def _has(module: str, name: str, sources: Path) -> bool:
    """Return whether a module of the package defines or imports a name, or has a module of this name."""
    path = sources.joinpath(*module.split("."))
    file = path / "__init__.py" if path.is_dir() else path.with_suffix(".py")
    if not file.is_file():
        return False
    top = ast.parse(file.read_text("utf-8"))
    imported = (alias for node in top.body if isinstance(node, ast.Import | ast.ImportFrom) for alias in node.names)
    defined = (
        node.name for node in top.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef)
    )
    assigned = (
        target.id
        for node in top.body
        if isinstance(node, ast.Assign | ast.AnnAssign)
        for target in (node.targets if isinstance(node, ast.Assign) else [node.target])
        if isinstance(target, ast.Name)
    )
    names = {*defined, *assigned, *((alias.asname or alias.name).partition(".")[0] for alias in imported)}
    return name in names or any(each.stem == name for each in path.glob("*"))


def _iter_used(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute):
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


def _iter_words(module: ModuleType, *, nested: bool = True) -> Iterator[str]:
    """Yield the words of a module of Python: of its source, or else of the texts of its objects."""
    for name, value in vars(module).items():
        yield name
        if inspect.ismodule(value) and nested:
            yield from _iter_words(value, nested=False)
        elif inspect.isclass(value):
            yield from (word for kind in value.__mro__ for word in vars(kind))
            yield from (word for each in vars(value).values() for word in _WORD.findall(inspect.getdoc(each) or ""))
        elif callable(value):
            yield from _WORD.findall(value.__doc__ or "")
    file = Path(getattr(module, "__file__", None) or "")
    if file.suffix == ".py" and file.is_file():
        yield from _WORD.findall(file.read_text("utf-8", "replace"))
