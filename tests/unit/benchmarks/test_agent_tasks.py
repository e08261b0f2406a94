"""Tasks for coding agents: the reference solution is right, and a guess without documentation is not."""

from __future__ import annotations

from pathlib import Path

import pytest
from public.agents.tasks import AGENTS, Task, find_tasks

TASKS = [pytest.param(task, id=f"{task.library}-{task.name}") for task in find_tasks()]


def test_every_task_folder_is_found() -> None:
    folders = {path for path in AGENTS.glob("*/tasks/*") if path.is_dir()}
    assert {task.folder for task in find_tasks()} == folders


@pytest.mark.parametrize("task", TASKS)
def test_reference_solution_is_right(task: Task) -> None:
    assert task.check(task.folder / "solution.py") is None


@pytest.mark.parametrize("task", TASKS)
def test_guess_is_refused_with_one_line(task: Task) -> None:
    reason = task.check(task.folder / "guess.py")
    assert reason
    assert "\n" not in reason


@pytest.mark.parametrize("task", TASKS)
def test_statement_has_40_to_120_words(task: Task) -> None:
    assert 40 <= len(task.read_statement().split()) <= 120


def test_check_reports_syntax_error(tmp_path: Path) -> None:
    solution = tmp_path / "solution.py"
    solution.write_text("def (")
    reason = find_tasks()[0].check(solution)
    assert reason is not None
    assert reason.startswith("SyntaxError")


def test_check_reports_exit_of_solution(tmp_path: Path) -> None:
    solution = tmp_path / "solution.py"
    solution.write_text("raise SystemExit(0)")
    assert find_tasks()[0].check(solution) == "SystemExit: 0"
