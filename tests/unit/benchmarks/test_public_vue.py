"""Scores of the Vue set, and pages of documentation repositories for VitePress and Nuxt."""

from __future__ import annotations

import json
import subprocess
from math import isnan
from pathlib import Path

import pytest
from public.report import Row, mean_of, run_set
from public.vitepress import expand_includes, iter_pages, make_path, read_page, remove_scripts
from public.vue import Question, measure, score_pages, score_text
from public.vue_scores import (
    hits_page,
    mean_of_groups,
    measure_recall,
    measure_strict_recall,
    remove_echo,
    unnamed,
)


def make_row(number: int, group: str, **scores: float) -> Row:
    return Row(number, "develop", "search", scores, group=group)


# Scores


def test_recall_counts_letters_in_any_case() -> None:
    assert measure_recall(["openValve", "drain"], "call OPENVALVES first") == 0.5


def test_recall_without_names_is_one() -> None:
    assert measure_recall([], "") == 1.0


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("valve", "the `valve` opens", True),
        ("valve", "Valve, valves, my-valve, $valve, valve2", False),
        ("$reset", "pump.$reset()", True),
        ("v-pump", "<i v-pump>", True),
        ("open()", "call open() now", True),
        ("pump.flow", "pumpXflow", False),
    ],
)
def test_strict_recall_counts_whole_identifiers(name: str, text: str, found: bool) -> None:
    assert measure_strict_recall([name], text) == float(found)


def test_strict_recall_without_names_is_an_error() -> None:
    with pytest.raises(ValueError, match="no names"):
        measure_strict_recall([], "text")


def test_unnamed_leaves_out_names_of_the_question() -> None:
    assert unnamed(["openValve", "drain"], "What does openvalve do?") == ("drain",)


def test_remove_echo_removes_the_question() -> None:
    assert remove_echo("Results for drain it?: drain", "drain it?") == "Results for : drain"


def test_score_text_has_strict_recall_of_questions_with_unnamed_names() -> None:
    question = Question("Why drain?", ["a.md"], ["drain", "valve"])

    assert score_text(question, "Why drain? Open the valve.") == {"recall": 0.5, "tokens": 7.0, "strict": 1.0}
    assert "strict" not in score_text(Question("Why drain?", [], ["drain"]), "")


def test_hits_page_compares_with_and_without_suffix() -> None:
    assert hits_page(["guide/a.md"], ["/guide/a"], 1) == 1.0
    assert hits_page(["guide/a.md"], ["guide/a"], 1, suffix=True) == 0.0
    assert hits_page(["guide/a.md"], ["guide/a.md"], 1, suffix=True) == 1.0


def test_score_pages_counts_each_page_once() -> None:
    files = ["a.md", "a.md", "b.md"]
    scores = score_pages(Question("", ["b.md"], []), files)

    assert hits_page(["a.md", "b.md"], ["b.md"], 2) == scores["page 5"] == 1.0
    assert scores["page 1"] == 0.0


def test_mean_of_groups_weighs_groups_equally_and_leaves_out_those_without_score() -> None:
    rows = [make_row(1, "a", hit=1.0), make_row(2, "a", hit=0.0), make_row(3, "b", hit=1.0), make_row(4, "c")]

    assert mean_of_groups(mean_of("hit"))(rows) == 0.75
    assert isnan(mean_of_groups(mean_of("other"))(rows))


# Pages


@pytest.mark.parametrize(
    ("file", "path"),
    [
        ("index.md", ""),
        ("guide/index.md", "guide/"),
        ("guide/why.md", "guide/why"),
        ("1.start/2.install.md", "start/install"),
        ("1.start/0.index.md", "start/"),
        ("guide/reindex.md", "guide/reindex"),
        ("releases/2.0.md", "releases/2.0"),
    ],
)
def test_make_path(file: str, path: str) -> None:
    assert make_path(file) == path


def test_remove_scripts_keeps_those_in_code() -> None:
    text = "<script setup>\nimport Pump\n</script>\n\n```vue\n<script setup>\nopen()\n</script>\n```\n<style>\na {}\n</style>\n"

    assert remove_scripts(text) == "\n```vue\n<script setup>\nopen()\n</script>\n```\n"


def test_expand_includes_includes_files_once_per_level_and_not_in_code(tmp_path: Path) -> None:
    (tmp_path / "part.md").write_text("---\ntitle: Part\n---\nDrain it. <!--@include: ./part.md-->\n", "utf-8")
    text = "<!--@include: ./part.md-->\n```\n<!--@include: ./part.md-->\n```\n<!-- @include: ./none.md -->\n"

    expanded = expand_includes(text, tmp_path, depth=2)

    assert expanded.count("Drain it.") == 2
    assert expanded.endswith("```\n<!--@include: ./part.md-->\n```\n<!-- @include: ./none.md -->\n")


def test_read_page_takes_anchors_of_headings(tmp_path: Path) -> None:
    file = tmp_path / "valve.md"
    file.write_text("# Valve {#the-valve}\n\n## `open()` now\n\nOpen it.\n", "utf-8")

    page = read_page(file, tmp_path)

    assert [(heading.text, heading.anchor) for heading in page.headings] == [
        ("Valve", "the-valve"),
        ("open() now", "open-now"),
    ]
    assert page.markdown == "# Valve\n\n## `open()` now\n\nOpen it.\n"


def test_read_page_without_h1_gets_title_and_description(tmp_path: Path) -> None:
    file = tmp_path / "1.valve.md"
    file.write_text("---\ntitle: Valve\ndescription: Opens the pump.\n---\n\n## Open\n", "utf-8")

    page = read_page(file, tmp_path)

    assert page.title == "Valve"
    assert page.markdown == "# Valve\n\nOpens the pump.\n\n## Open\n"


def test_iter_pages_leaves_out_excluded_and_hidden_folders(tmp_path: Path) -> None:
    for name in ("index.md", "zh/index.md", ".vitepress/a.md", "guide/zh/b.md"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("# A\n", "utf-8")

    assert [each.file for each in iter_pages(tmp_path, ("zh",))] == ["guide/zh/b.md", "index.md"]


# The command


def test_command_writes_a_record_without_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    names = ("vue", "vue-router", "vueuse", "vite", "vitest", "vue-devtools", "pinia", "nuxt")
    folders = ("docs/src", "router/packages/docs", "vueuse/packages", "vite/docs", "vitest/docs", "devtools/docs")
    question = {"question": "How is it drained?", "relevant_paths": ["guide/a.md"], "relevant_apis": ["openValve"]}
    for name in names:
        _write(tmp_path / f"vue-mcp/eval/questions/{name}.json", json.dumps([question]))
    for folder in (*folders, "pinia/packages/docs", "nuxt/docs"):
        _write(tmp_path / folder / "guide/a.md", "# Drain\n\nCall `openValve` to drain it, then wait for the ebb.\n")
        _write(tmp_path / folder / "guide/b.md", "# Prime\n\nPriming fills the pump with clean water.\n")
    for repository in ("vue-mcp", "docs", "router", "vueuse", "vite", "vitest", "devtools", "pinia", "nuxt"):
        for command in (["init", "-q"], ["add", "."], ["commit", "-qm", "first"]):
            identity = ["-c", "user.name=a", "-c", "user.email=a@b.example"]
            subprocess.run(["git", "-C", tmp_path / repository, *identity, *command], check=True)

    run_set(measure, None, ["--data", str(tmp_path), "--record", f"{tmp_path}/r.json"])

    record = json.loads((tmp_path / "r.json").read_text("utf-8"))
    assert len(record["checkouts"]) == 9
    assert {row["number"] for row in record["rows"]} == set(range(1, 9))
    assert {row["scores"]["recall 1700"] for row in record["rows"]} == {1.0}
    assert "How is it drained?" not in json.dumps(record)
    assert "openValve" not in json.dumps(record)
    assert "| Context7, 943 tokens, other tokenizer (published) |" in capsys.readouterr().out


def _write(file: Path, text: str) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, "utf-8")
