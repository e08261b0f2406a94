"""Print which of a random sample of mutants the tests kill.

    python -m pytest -q -n 2 --cov --cov-context=test --cov-report=       with pytest-cov: writes .coverage
    python benchmarks/mutants.py CHECKOUT COVERAGE [--count 100] [--seed 57] [--since REVISION]

Needs cosmic-ray, which makes the mutants, and coverage. A mutant is a function in which one comparison, constant, condition
or loop was changed. It runs the tests that reach its line, unit tests first, with the environment of CHECKOUT, and stops at
the first failure. CHECKOUT is changed while a mutant runs. Functions that differ from REVISION are left out, so that the
tests of two commits can be compared by the same mutants.
"""

from __future__ import annotations

import argparse
import ast
import random
import subprocess
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast_from_path
from cosmic_ray.mutating import use_mutation
from cosmic_ray.plugins import get_operator, operator_names
from coverage import CoverageData

PACKAGES = (
    "mkdocs_roaming/manifest",
    "mkdocs_roaming/publish",
    "mkdocs_roaming/html",
    "mkdocs_roaming/answer",
    "mkdocs_roaming/library",
    "mkdocs_roaming/serve",
    "crawler/roaming_crawler",
)
KINDS = ("Comparison", "Unary", "Not", "With", "Exception", "Number", "Zero")
SECONDS_A_MUTANT = 900


class Mutant(NamedTuple):
    """One change: at the `occurrence`-th place that `operator` can change in a module."""

    operator: str
    occurrence: int


def list_lines(source: str, old_source: str) -> set[int]:
    """Return the lines of the function bodies that are the same in both sources."""
    old = {ast.dump(node) for node in ast.walk(ast.parse(old_source)) if isinstance(node, ast.FunctionDef)}
    functions = [node for node in ast.walk(ast.parse(source)) if isinstance(node, ast.FunctionDef)]
    unchanged = [node for node in functions if ast.dump(node) in old]
    return {line for node in unchanged for line in range(node.body[0].lineno, (node.end_lineno or 0) + 1)}


def list_mutants(path: Path) -> Iterator[tuple[int, Mutant]]:
    """Yield line and change of the possible mutants of a module, without arithmetic, which is `|` in annotations as a rule."""
    nodes = list(ast_nodes(get_ast_from_path(path)))
    for name in operator_names():
        if any(kind in name for kind in KINDS):
            operator = get_operator(name)()
            places = [start for node in nodes for start, _ in operator.mutation_positions(node)]
            yield from ((line, Mutant(name, occurrence)) for occurrence, (line, _) in enumerate(places))


def choose(
    checkout: Path, covered: CoverageData, since: str, seed: int
) -> Iterator[tuple[str, int, Mutant, list[str]]]:
    """Yield module, line, change and tests, in an order that `seed` decides: each line once, each kind of change as likely."""
    tests: dict[tuple[str, int], list[str]] = {}
    changes: dict[tuple[str, int], list[Mutant]] = defaultdict(list)
    root = next(file.split("/mkdocs_roaming/")[0] for file in covered.measured_files() if "/mkdocs_roaming/" in file)
    for file in covered.measured_files():
        module = str(Path(file).relative_to(root))
        old = subprocess.run(["git", "show", f"{since}:{module}"], cwd=checkout, capture_output=True, text=True).stdout
        if module.startswith(PACKAGES) and old:
            reached = covered.contexts_by_lineno(file)
            lines = list_lines((checkout / module).read_text(), old)
            for line, change in list_mutants(checkout / module):
                if line in lines and any(reached.get(line, [])):
                    tests[module, line] = sorted({context.split("|")[0] for context in reached[line]} - {""})
                    changes[module, line].append(change)
    chooser = random.Random(seed)
    for module, line in chooser.sample(sorted(changes), len(changes)):
        kind = chooser.choice(sorted({change.operator for change in changes[module, line]}))
        change = chooser.choice([change for change in changes[module, line] if change.operator == kind])
        yield module, line, change, tests[module, line]


def find_killer(checkout: Path, module: str, mutant: Mutant, tests: list[str]) -> str:
    """Return the line in which pytest names the first test that fails on a mutant, or an empty text if all pass."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as arguments:
        arguments.write("\n".join(sorted(tests, key=lambda test: ("/unit/" not in test, test))))
        arguments.flush()
        command = [".venv/bin/python", "-B", "-m", "pytest", "-x", "-q", "-pno:cacheprovider", f"@{arguments.name}"]
        with use_mutation(checkout / module, get_operator(mutant.operator)(), mutant.occurrence):
            try:
                done = subprocess.run(command, cwd=checkout, capture_output=True, text=True, timeout=SECONDS_A_MUTANT)
            except subprocess.TimeoutExpired:
                return "stopped after a time"
    return next(
        (line for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))), str(done.returncode or "")
    )


def main() -> None:
    """Print a line for each mutant, then how many survived."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("checkout", type=Path)
    parser.add_argument("coverage")
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=57)
    parser.add_argument("--since", default="HEAD")
    options = parser.parse_args()
    covered = CoverageData(options.coverage)
    covered.read()
    survivors = 0
    mutants = choose(options.checkout, covered, options.since, options.seed)
    for module, line, mutant, tests in islice(mutants, options.count):
        killer = find_killer(options.checkout, module, mutant, tests)
        survivors += not killer
        print(f"{module}:{line} {mutant.operator} {mutant.occurrence}: {killer or 'SURVIVED'}", flush=True)
    print(f"{survivors} of {options.count} survived")


if __name__ == "__main__":
    main()
