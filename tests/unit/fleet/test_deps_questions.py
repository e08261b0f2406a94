"""The packages that a question is about, by the code that it quotes."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Any

import pytest
from timing import count_milliseconds

from mkdocs_roaming.library.targets import PackageInfo
from roaming_fleet.deps.project import PackageDocs
from roaming_fleet.deps.view import find_packages

DATA: dict[str, Any] = tomllib.loads((Path(__file__).parents[2] / "golden/deps/questions.toml").read_text("utf-8"))
PACKAGES = [
    PackageDocs(PackageInfo(name.removeprefix("npm "), "1.0"), name, ecosystem, True, "place", imports=tuple(imports))
    for name, (ecosystem, *imports) in DATA["packages"].items()
]


@pytest.mark.parametrize("case", DATA["cases"], ids=lambda case: case["question"].strip()[:40])
def test_packages_are_found_by_quoted_code(case: dict[str, Any]) -> None:
    assert find_packages(case["question"], PACKAGES) == case["packages"]


@pytest.mark.parametrize(
    "piece",
    [
        "a",
        "a.",
        "a_",
        ".",
        " ",
        "\n",
        "\n ",
        "`",
        "import ",
        "import a,",
        "from ",
        "from a ",
        "from a\t",
        "@a/",
        "node_modules/",
        "'",
    ],
)
def test_packages_are_found_in_linear_time(piece: str) -> None:
    text = piece * (40_000 // len(piece))
    assert count_milliseconds(lambda: find_packages(text, PACKAGES), 2) < 100
