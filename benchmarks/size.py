"""Print the size of the code: modules, lines, import cycles, small modules, and modules that a command loads.

    python benchmarks/size.py [--check]

Code lines exclude docstrings, comments and blank lines. A module counts as small when it has fewer than 100 lines and only
one other module imports it; siblings of a family (commands, lint rules, converters, model adapters, support checks) are not
listed. Loaded modules are those of this project in `sys.modules` after the command.

With --check the exit code is 1 where a limit is exceeded.
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
from collections import defaultdict
from pathlib import Path

import grimp

ROOT = Path(__file__).parents[1]
PACKAGES = {
    "mkdocs_roaming": ROOT,
    "roaming_crawler": ROOT / "crawler",
    "roaming_fleet": ROOT / "crawler",
}
FAMILIES = ("cli", "lint.rules", "html", "answer.models", "answer.support")
LIMITS = {"modules": 120, "code lines": 20_500, "ask": 60, "build": 48}
LAYOUT_TOKENS = {
    tokenize.COMMENT,
    tokenize.NL,
    tokenize.NEWLINE,
    tokenize.INDENT,
    tokenize.DEDENT,
    tokenize.ENDMARKER,
}


def count_code_lines(source: str) -> int:
    """Return the number of lines that hold code."""
    docstrings: set[int] = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            docstrings.update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type not in LAYOUT_TOKENS:
            lines.update(range(token.start[0], token.end[0] + 1))
    return len(lines - docstrings)


def read_modules() -> dict[str, Path]:
    """Return the modules of all packages, `__init__.py` excluded, by dotted name."""
    return {
        ".".join(file.relative_to(base).with_suffix("").parts): file
        for package, base in PACKAGES.items()
        for file in sorted((base / package).rglob("*.py"))
        if file.name != "__init__.py"
    }


def find_cycles(graph: grimp.ImportGraph) -> list[str]:
    """Return the pairs of modules that import each other, directly or through others."""
    cycles = set()
    for module in graph.modules:
        for imported in graph.find_modules_directly_imported_by(module):
            if graph.chain_exists(importer=imported, imported=module):
                cycles.add(" <-> ".join(sorted((module, imported))))
    return sorted(cycles)


def find_small_modules(graph: grimp.ImportGraph, modules: dict[str, Path]) -> list[str]:
    """Return the small modules that only one module imports."""
    small = []
    for name, file in modules.items():
        if any(name.startswith(f"mkdocs_roaming.{family}.") for family in FAMILIES):
            continue
        importers = graph.find_modules_that_directly_import(name)
        lines = len(file.read_text("utf-8").splitlines())
        if lines < 100 and len(importers) == 1:
            small.append(f"{name} ({lines} lines, imported by {next(iter(importers))})")
    return small


def count_loaded(code: str, *arguments: str) -> tuple[int, list[str]]:
    """Return how many project modules a program loads, and those of the fleet and the crawler."""
    report = "import json, sys; print(json.dumps([m for m in sys.modules]), file=sys.stderr)"
    program = f"import atexit, sys\natexit.register(lambda: exec({report!r}))\n{code}"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, check=False, cwd=ROOT
    )
    loaded = json.loads(done.stderr.strip().splitlines()[-1])
    own = [name for name in loaded if name.split(".")[0] in PACKAGES]
    return len(own), [name for name in own if not name.startswith("mkdocs_roaming")]


def build_config(folder: Path) -> Path:
    """Write a small MkDocs project and return its configuration file."""
    (folder / "docs").mkdir()
    (folder / "docs/index.md").write_text("# Pump\n\nThe pump starts when the tide rises.\n", "utf-8")
    config = folder / "mkdocs.yml"
    config.write_text("site_name: Pump\nsite_url: https://pump.example/\nplugins:\n  - roaming\n", "utf-8")
    return config


def main() -> int:
    """Print the report."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="Exit with 1 where a limit is exceeded.")
    check = parser.parse_args().check
    modules = read_modules()
    graph = grimp.build_graph(*PACKAGES, include_external_packages=False, cache_dir=None)
    figures: dict[str, int] = {}

    print(f"{'package':<32}{'modules':>8}{'code lines':>12}")
    by_package: dict[str, list[int]] = defaultdict(list)
    for name, file in modules.items():
        by_package[".".join(name.split(".")[:2]) if name.count(".") > 1 else name.split(".")[0]].append(
            count_code_lines(file.read_text("utf-8"))
        )
    for package, counts in sorted(by_package.items()):
        print(f"{package:<32}{len(counts):>8}{sum(counts):>12}")
    for top in PACKAGES:
        own = {name: file for name, file in modules.items() if name.startswith(top + ".")}
        inits = sum(count_code_lines(f.read_text("utf-8")) for f in (PACKAGES[top] / top).rglob("__init__.py"))
        lines = inits + sum(count_code_lines(file.read_text("utf-8")) for file in own.values())
        print(f"{'total ' + top:<32}{len(own):>8}{lines:>12}")
        if top == "mkdocs_roaming":
            figures |= {"modules": len(own), "code lines": lines}

    cycles = find_cycles(graph)
    small = find_small_modules(graph, modules)
    print(f"\nimport cycles: {len(cycles)}")
    print(*(f"  {cycle}" for cycle in cycles), sep="\n", end="\n" if cycles else "")
    print(f"small modules with one importer: {len(small)}")
    print(*(f"  {line}" for line in small), sep="\n", end="\n" if small else "")

    with tempfile.TemporaryDirectory() as temporary:
        config = build_config(Path(temporary))
        run = "import sys, runpy\nsys.argv = sys.argv[1:]\nrunpy.run_module(sys.argv[0], run_name='__main__')"
        figures["build"], foreign = count_loaded(run, "mkdocs", "build", "-q", "-f", str(config))
        site = config.parent / "site"
        figures["ask"], also_foreign = count_loaded(
            run, "mkdocs_roaming", "ask", str(site), "When does the pump start?"
        )
    print(f"\nproject modules loaded by a cold build: {figures['build']}")
    print(f"project modules loaded by `roaming ask` without a model: {figures['ask']}")
    foreign += also_foreign
    print(f"crawler and fleet modules among them: {', '.join(foreign) or 'none'}")

    exceeded = [f"{name}: {figures[name]} > {limit}" for name, limit in LIMITS.items() if figures[name] > limit]
    print(f"\nlimits exceeded: {', '.join(exceeded) or 'none'}")
    return int(check and bool(exceeded or cycles or small or foreign))


if __name__ == "__main__":
    sys.exit(main())
