"""Texts of several pages, as tools write them."""

from __future__ import annotations

import json
import os
from pathlib import Path
from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mkdocs_roaming.text.full_text import split_full_text
from mkdocs_roaming.text.llms_index import LlmsIndex

GOLDEN = Path(__file__).parents[2] / "golden" / "full-text"
BASE = "https://docs.example/llms-full.txt"


def _resolve(address: str) -> str:
    return urljoin(BASE, address)


@pytest.mark.parametrize("file", sorted(GOLDEN.glob("*.txt")), ids=lambda file: file.stem)
def test_split_full_text_matches_golden_file(file: Path) -> None:
    full = split_full_text(file.read_text("utf-8"), _resolve)
    found = {"dialect": full.dialect, "pages": [page._asdict() for page in full.pages]}
    expected = file.with_suffix(".json")
    if os.environ.get("UPDATE"):
        expected.write_text(json.dumps(found, ensure_ascii=False, indent=1) + "\n", "utf-8")
    assert found == json.loads(expected.read_text("utf-8"))


@given(st.text("#>-[]()` \n\r\tab:/.<>=\"'~|\\\ufeff", max_size=200))
def test_split_full_text_accepts_any_text(text: str) -> None:
    split_full_text(text, _resolve)


def test_find_site_returns_folder_of_all_kinds_of_lists() -> None:
    text = "# Kettle\n\n> Boils.\n\n- [Fill](/fill/): how\n- Boil: https://docs.example/boil/\n* <https://docs.example/a>\n"
    assert LlmsIndex.from_text(text, BASE, _resolve).find_site() == "https://docs.example/"


def test_find_site_returns_nothing_for_text_with_links() -> None:
    text = "# Kettle\n\nIt boils [water](/water/).\n\nThen it whistles.\n\n- [Fill](/fill/)\n- [Boil](/boil/)\n\nAll old.\n"
    assert LlmsIndex.from_text(text, BASE, _resolve).find_site() == ""
