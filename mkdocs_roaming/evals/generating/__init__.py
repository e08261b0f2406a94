"""First question sets: made from what a site says, or by a model, and each question read back before it is given."""

from __future__ import annotations

from mkdocs_roaming.evals.generating.asking import generate_by_model
from mkdocs_roaming.evals.generating.drawing import generate
from mkdocs_roaming.evals.generating.made import Made, written

__all__ = ["Made", "generate", "generate_by_model", "written"]
