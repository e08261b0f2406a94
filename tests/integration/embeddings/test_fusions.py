"""The benchmark of fusions ranks like hybrid search."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import fusions
import pytest
import yaml
from embeddings_api import EmbeddingsApi
from search_quality import Question

from mkdocs_roaming.embeddings.client import EmbeddingsClient, QueryEmbedder
from mkdocs_roaming.embeddings.store import EmbeddingsOptions
from mkdocs_roaming.library.hybrid import HybridSearch
from mkdocs_roaming.library.targets import open_library

BENCHMARKS = Path(fusions.__file__).parent
QUERIES = ("car on fridays", "price of tyres", "how long are receipts kept", "does anybody work on sundays here")


@pytest.fixture
def site(build: Any, configured: EmbeddingsOptions) -> Path:
    """A published site with vectors."""
    build(configured)
    return build.site


def test_benchmark_ranks_like_hybrid_search(site: Path, api: EmbeddingsApi) -> None:
    library = open_library(site)
    queries = QueryEmbedder(EmbeddingsClient("toy", base_url=api.url))
    questions = [Question(ask, frozenset()) for ask in QUERIES]
    found = fusions.score_questions(library, queries, {"asked": questions})["asked"]
    hybrid = HybridSearch(library, queries)
    for one in found:
        scores = fusions.FUSIONS[fusions.HYBRID](one)
        order = sorted(scores, key=scores.__getitem__, reverse=True)
        assert order == [hit.section.id for hit in hybrid.find(one.question.text, limit=200)]


def test_benchmark_tables_compare_fusions(
    site: Path, api: EmbeddingsApi, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Paraphrases are found only by vectors."""
    questions = tmp_path / "q.yml"
    questions.write_text("questions:\n- ask: car\n  sections: [fleet/]\n- ask: price\n  sections: [money/]\n")
    config = tmp_path / "roaming.toml"
    config.write_text(f'[embeddings]\nmodel = "toy"\nbase_url = "{api.url}"\n')
    before = len(api.texts)
    arguments = [f"a={site}", "--questions", f"a={questions}", "--config", str(config)]
    assert fusions.main(arguments) == 0
    rows = {line.split("|")[1].strip(): line for line in capsys.readouterr().out.splitlines() if line.startswith("|")}
    assert rows["words"].startswith("| words | 0.0 | 0.0 | 0.0 | 0.0 | 0.0 | 0.0 | 0.0 |  | -100.0 ")
    assert rows["meaning"].startswith("| meaning | 100.0 | 100.0 | 100.0 | 100.0 | 100.0 | 100.0 | 100.0 | +100.0 ")
    assert set(fusions.FUSIONS) < set(rows)
    assert api.texts[before:] == ["car", "price"]


@pytest.mark.parametrize("file", sorted((BENCHMARKS / "asked").glob("*.yml")), ids=lambda file: file.stem)
def test_benchmark_questions_are_unique_and_answerable(file: Path) -> None:
    questions = yaml.safe_load(file.read_text("utf-8"))["questions"]
    assert len(questions) >= 20
    assert len({question["ask"].lower() for question in questions}) == len(questions)
    for question in questions:
        assert set(question) == {"ask", "sections", "answerable"}
        assert question["answerable"] is True
        assert question["sections"]
