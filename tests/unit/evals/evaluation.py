"""Helpers that run evaluations of the Kettle documentation."""

from __future__ import annotations

from typing import Any

import anyio
from kettle import QUESTIONS

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.models.base import Model, Stop, Text, ToolCall, Usage
from mkdocs_roaming.evals.questions import parse_questions, resolve_sections
from mkdocs_roaming.evals.runner import EvalReport, Evaluation, System
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.search import Search

PRICES = Prices(input=1.0, output=5.0)


def run_evaluation(
    library: Library, *systems: str | Model, text: str = QUESTIONS, budget: Budget | None = None
) -> EvalReport:
    budget = budget or Budget(prices=PRICES, whole_site_tokens=0)
    built = [System(system) if isinstance(system, str) else System(system.name, system, budget) for system in systems]
    questions = resolve_sections(parse_questions(text, "q.yml"), library.sections)
    evaluation = Evaluation(questions, built, library, Search(library))
    anyio.run(evaluation.run)
    return evaluation.report()


def expand_reply(library: Library, title: str) -> tuple[Any, ...]:
    """Return a model's reply that opens the section with a title; it costs 0.0015 at `PRICES`."""
    return (ToolCall("a", "expand_sections", {"ids": [_id(library, title)]}), Usage(1000, output=100), Stop("tools"))


def text_reply(library: Library, title: str, text: str) -> tuple[Any, ...]:
    """Return a model's reply that cites the section with a title; it costs 0.0015 at `PRICES`."""
    return (Text(f"{text} [^{_id(library, title)}]"), Usage(1000, output=100), Stop())


def _id(library: Library, title: str) -> str:
    return next(ref.id for ref in library.sections if ref.section.title == title)
