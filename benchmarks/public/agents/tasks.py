"""The tasks: where they are, and how a solution is checked.

Each task is a folder `benchmarks/public/agents/<library>/tasks/<name>`:

task.md      what a user asks for
check.py     `python check.py SOLUTION.py` exits with 0, or prints one line that says what is wrong
solution.py  a reference solution
guess.py     what a programmer would write without documentation; its check must fail
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[3]
AGENTS = ROOT / "benchmarks/public/agents"
SOURCES = {
    "ebbkeeper": ROOT / "sample_site/src",
    "quern": AGENTS / "quern/src",
}
TIME_LIMIT = 30.0  # seconds


@dataclass(frozen=True, slots=True)
class Task:
    """A task about one library.

    Attributes:
        library: The name of the package.
        name: The name of the task's folder.
        folder: The task's folder.
        sources: The folder that holds the package.
    """

    library: str
    name: str
    folder: Path
    sources: Path

    def read_statement(self) -> str:
        """Return what the user asks for."""
        return (self.folder / "task.md").read_text(encoding="utf-8")

    def check(self, solution: Path) -> str | None:
        """Run a solution in an empty folder, and return what is wrong with it.

        Args:
            solution: The Python file that defines the function of the task.

        Returns:
            The reason in one line, or None when the solution is right.
        """
        with tempfile.TemporaryDirectory() as folder:
            environment = {
                "HOME": folder,
                "PATH": os.defpath,
                "PYTHONDONTWRITEBYTECODE": "1",
                "PYTHONPATH": str(self.sources),
                "TMPDIR": folder,
                "TZ": "UTC",
            }
            # -S: packages that happen to be installed here are not part of a task.
            command = [sys.executable, "-S", str(self.folder / "check.py"), str(solution.resolve())]
            try:
                done = subprocess.run(
                    command,
                    cwd=folder,
                    env=environment,
                    timeout=TIME_LIMIT,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    check=False,
                )
            except subprocess.TimeoutExpired:
                return f"not finished after {TIME_LIMIT:.0f} s"
        if done.returncode == 0:
            return None
        lines = (done.stdout.strip() or done.stderr.strip()).splitlines()
        return lines[-1] if lines else f"the check exited with {done.returncode}"


def find_tasks() -> list[Task]:
    """Return all tasks, ordered by library and name."""
    return [
        Task(library, statement.parent.name, statement.parent, sources)
        for library, sources in SOURCES.items()
        for statement in sorted(AGENTS.glob(f"{library}/tasks/*/task.md"))
    ]
