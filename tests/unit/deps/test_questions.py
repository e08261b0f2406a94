"""The packages that a question is about, by the code that it quotes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.library.targets import PackageInfo
from roaming_deps.project import PackageDocs
from roaming_deps.view import find_packages

DATA: dict[str, Any] = tomllib.loads((Path(__file__).parents[2] / "golden/deps/questions.toml").read_text("utf-8"))
PACKAGES = [
    PackageDocs(PackageInfo(name.removeprefix("npm "), "1.0"), name, ecosystem, True, "place", imports=tuple(imports))
    for name, (ecosystem, *imports) in DATA["packages"].items()
]


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: case["question"].strip()[:40])
def test_packages_are_found_by_quoted_code(case: dict[str, Any]) -> None:
    assert find_packages(case["question"], PACKAGES) == case["packages"]
