"""Tables of cases in the file next to a test, with the suffix .yml."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import yaml


def read_tables(test: str) -> dict[str, Any]:
    """Return the tables of a test file by name."""
    tables: dict[str, Any] = yaml.safe_load(Path(test).with_suffix(".yml").read_text("utf-8"))
    return tables
