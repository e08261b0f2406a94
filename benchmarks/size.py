"""Print the size of the code, and compare it with the limits in size.toml.

    python benchmarks/size.py [--check | --update] [PACKAGE...]

lines      lines that hold code: no docstrings, comments or blank lines
chars      characters of these lines without their indentation
strings    of these, characters of string literals; the limit applies to the rest
local      imports of this project inside functions
branchy    functions with a cyclomatic complexity above 15, by radon

Modules are counted without `__init__.py`. Loaded modules are those of this project in `sys.modules` after a command. With
PACKAGE, such as `mkdocs_roaming.serve`, only its modules are listed, one per line. With --check the exit code is 1 where a
limit is exceeded. --update writes the measured values as limits: a change that exceeds one deletes something else, or raises
it in a commit of its own whose message says what it buys.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import subprocess
import sys
import tempfile
import tokenize
import tomllib
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple

import grimp
from radon.visitors import ComplexityVisitor

ROOT = Path(__file__).parents[1]
LIMITS = Path(__file__).with_suffix(".toml")
PACKAGES = {
    "mkdocs_roaming": ROOT,
    "roaming_crawler": ROOT / "crawler",
    "roaming_fleet": ROOT / "crawler",
}
ASSETS = {
    "javascript": "widget/**/*.js",
    "css": "**/*.css",
    "toml": "mkdocs_roaming/**/*.toml",
}
MAX_COMPLEXITY = 15
LAYOUT_TOKENS = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


class Size(NamedTuple):
    """The size of one module, or the sum of several."""

    modules: int = 0
    lines: int = 0
    chars: int = 0
    strings: int = 0
    local: int = 0
    branchy: int = 0
    functions: int = 0


def add(sizes: Iterable[Size]) -> Size:
    """Return the sum of sizes."""
    return Size(*(sum(column) for column in zip(Size(), *sizes, strict=True)))


def measure(file: Path) -> Size:
    """Return the size of one module."""
    source = file.read_text("utf-8")
    tree = ast.parse(source)
    docstrings: set[int] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    strings = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT_TOKENS and token.start[0] not in docstrings:
            lines.update(range(token.start[0], token.end[0] + 1))
            strings += len(token.string) if token.type == tokenize.STRING else 0
    text = source.splitlines()
    visitor = ComplexityVisitor.from_ast(tree)
    functions = [*visitor.functions, *(method for one in visitor.classes for method in one.methods)]
    return Size(
        modules=int(file.name != "__init__.py"),
        lines=len(lines),
        chars=sum(len(text[number - 1].strip()) for number in lines),
        strings=strings,
        local=count_local_imports(tree),
        branchy=sum(function.complexity > MAX_COMPLEXITY for function in functions),
        functions=len(functions),
    )


def count_local_imports(tree: ast.AST) -> int:
    """Return the number of statements inside functions that import modules of this project."""
    found = set()
    for function in ast.walk(tree):
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            for node in ast.walk(function):
                names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                if any(name.split(".")[0] in PACKAGES for name in names):
                    found.add(node)
    return len(found)


def read_modules() -> dict[str, Path]:
    """Return the files of all packages by dotted name."""
    return {
        ".".join(file.relative_to(base).with_suffix("").parts): file
        for package, base in PACKAGES.items()
        for file in sorted((base / package).rglob("*.py"))
    }


def find_cycles(graph: grimp.ImportGraph) -> list[str]:
    """Return the pairs of modules that import each other, directly or through others."""
    cycles = set()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            if graph.chain_exists(importer=imported, imported=module):
                cycles.add(" <-> ".join(sorted((module, imported))))
    return sorted(cycles)


def count_loaded(*arguments: str) -> tuple[int, list[str]]:
    """Return how many project modules a command loads, and those of the fleet and the crawler."""
    program = (
        "import atexit, json, runpy, sys\n"
        "atexit.register(lambda: print(json.dumps(list(sys.modules)), file=sys.stderr))\n"
        "sys.argv = sys.argv[1:]\n"
        "runpy.run_module(sys.argv[0], run_name='__main__')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )
    loaded = json.loads(done.stderr.strip().splitlines()[-1])
    own = [name for name in loaded if name.split(".")[0] in PACKAGES]
    return len(own), [name for name in own if not name.startswith("mkdocs_roaming")]


def measure_loaded() -> tuple[dict[str, int], list[str]]:
    """Return the modules that a cold build, a question and a search load, and the foreign ones among them."""
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        (folder / "docs").mkdir()
        (folder / "docs/index.md").write_text("# Pump\n\nThe pump starts when the tide rises.\n", "utf-8")
        config = "site_name: Pump\nsite_url: https://pump.example/\nplugins:\n  - roaming\n"
        (folder / "mkdocs.yml").write_text(config, "utf-8")
        site = str(folder / "site")
        counts, foreign = {}, set()
        for name, arguments in {
            "build": ("mkdocs", "build", "-q", "-f", str(folder / "mkdocs.yml")),
            "ask": ("mkdocs_roaming", "ask", site, "When does the pump start?"),
            "search": ("mkdocs_roaming", "search", site, "pump"),
        }.items():
            counts[name], found = count_loaded(*arguments)
            foreign.update(found)
    return counts, sorted(foreign)


def main() -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("packages", nargs="*", metavar="PACKAGE", help="List the modules of these packages alone.")
    parser.add_argument("--check", action="store_true", help="Exit with 1 where a limit is exceeded.")
    parser.add_argument("--update", action="store_true", help="Write the measured values as limits.")
    options = parser.parse_args()
    sizes = {name: measure(file) for name, file in read_modules().items()}
    print(f"{'':<42}" + "".join(f"{field:>9}" for field in Size._fields[:-1]))
    if options.packages:
        wanted = tuple(f"{name}." for name in options.packages)
        sizes = {name: size for name, size in sizes.items() if f"{name}.".startswith(wanted)}
        print_rows(sizes | {"total": add(sizes.values())})
        return 0
    by_package: dict[str, list[Size]] = {}
    for name, size in sizes.items():
        parts = name.split(".")
        by_package.setdefault(".".join(parts[:2]) if len(parts) > 2 else parts[0], []).append(size)
    totals = {package: add(found) for package, found in by_package.items()}
    total = add(totals.values())
    core = add(size for name, size in totals.items() if name.startswith("mkdocs_roaming"))
    print_rows(totals | {"core": core, "total": total})

    loaded, foreign = measure_loaded()
    cycles = find_cycles(grimp.build_graph(*PACKAGES, include_external_packages=False, cache_dir=None))
    figures: dict[str, dict[str, int]] = {
        "modules": {name: size.modules for name, size in totals.items()},
        "code": {name: size.chars - size.strings for name, size in totals.items()},
        "strings": {"all": total.strings},
        "assets": {
            name: sum(len(file.read_text("utf-8")) for file in ROOT.glob(pattern) if is_source(file))
            for name, pattern in ASSETS.items()
        },
        "loaded": loaded,
        "structure": {"cycles": len(cycles), "local imports": total.local, "branchy functions": total.branchy},
    }
    share = total.branchy / total.functions
    print(f"\n{total.branchy} of {total.functions} functions have a complexity above {MAX_COMPLEXITY} ({share:.1%})")
    for table in ("assets", "loaded", "structure"):
        print(f"{table}: " + ", ".join(f"{name} {value}" for name, value in figures[table].items()))
    print(f"cycles: {', '.join(cycles) or 'none'}")
    print(f"modules of the crawler and the fleet loaded by these commands: {', '.join(foreign) or 'none'}")
    if options.update:
        LIMITS.write_text(render_limits(figures), "utf-8")
    exceeded = find_exceeded(figures, tomllib.loads(LIMITS.read_text("utf-8")))
    print(f"limits exceeded: {', '.join(exceeded) or 'none'}")
    return int(options.check and bool(exceeded or foreign))


def is_source(file: Path) -> bool:
    """Return whether a file is written by hand and published."""
    skipped = {"node_modules", ".venv", ".cache", "site", "docs", "tests", "sample_site"}
    return skipped.isdisjoint(file.relative_to(ROOT).parts)


def print_rows(sizes: dict[str, Size]) -> None:
    """Print one line for each size."""
    for name, size in sizes.items():
        print(f"{name:<42}" + "".join(f"{value:>9}" for value in size[:-1]))


def find_exceeded(figures: dict[str, dict[str, int]], limits: dict[str, dict[str, int]]) -> list[str]:
    """Return a text for each figure above its limit; a figure without a limit has the limit 0."""
    return [
        f"{table} of {name}: {value} > {limit}"
        for table, values in figures.items()
        for name, value in values.items()
        if value > (limit := limits.get(table, {}).get(name, 0))
    ]


def render_limits(figures: dict[str, dict[str, int]]) -> str:
    """Return the text of size.toml."""
    parts = ["# Limits of size.py; code is counted in characters without string literals.\n"]
    for table, values in figures.items():
        parts.append(f"[{table}]\n" + "".join(f"{json.dumps(name)} = {value}\n" for name, value in values.items()))
    return "\n".join(parts)


if __name__ == "__main__":
    sys.exit(main())
