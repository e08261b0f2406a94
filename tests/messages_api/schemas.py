"""Faults of the objects of a request, by the JSON Schema of its API."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import yaml
from jsonschema import Draft202012Validator


@cache
def _load(name: str) -> Draft202012Validator:
    return Draft202012Validator(yaml.safe_load(Path(__file__).with_name(f"{name}.yml").read_text("utf-8")))


def schema_faults(name: str, body: Any, limit: str, budget: int | None) -> Iterator[str]:
    """Yield the faults of a request, and whether its limit of output tokens exceeds the budget."""
    for error in _load(name).iter_errors(body):
        yield f"{error.json_path}: {error.message}"[:500]
    if budget is not None and body.get(limit, 0) > budget:
        yield f"{limit}: {body[limit]} exceeds the budget of {budget}"
