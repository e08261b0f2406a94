"""`roaming export` with the sample site."""

from __future__ import annotations

import re
from pathlib import Path

from click.testing import CliRunner, Result
from serving import serve_static

from mkdocs_roaming.cli import main

URL = "https://docs.ebbkeeper.example/handbook/"


def agents_md(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["export", "agents-md", *map(str, arguments)])


def test_every_id_of_the_index_names_a_published_file(sample: Path) -> None:
    done = agents_md(sample)
    assert (done.exit_code, done.stderr) == (0, "")
    assert len(done.stdout.encode()) <= 8000
    ids = re.findall(r"^ *\[(\w+)\]", done.stdout, re.MULTILINE)
    assert len(ids) > 20
    assert [id_ for id_ in ids if not (sample / f"roaming/sections/{id_}.md").is_file()] == []


def test_index_is_written_into_a_file_beside_other_text(sample: Path, tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_text("# Rules\n\nRun the tests.\n", "utf-8")
    done = agents_md(sample, "--into", file, "--max-bytes", "3000")
    assert re.fullmatch(rf"\S+AGENTS\.md: index of {URL}, 2,\d{{3}} bytes\n", done.stdout)
    text = file.read_text("utf-8")
    assert text.startswith(f"# Rules\n\nRun the tests.\n\n<!-- roaming: {URL} -->\n")
    assert agents_md(sample, "--into", file, "--max-bytes", "3000").exit_code == 0
    assert file.read_text("utf-8") == text


def test_site_of_others_needs_consent_to_titles_only(sample: Path) -> None:
    with serve_static(sample, "https://docs.example/") as url:
        refused, done = agents_md(url), agents_md(url, "--untrusted")
    assert refused.exit_code != 0
    assert "export titles only with --untrusted" in refused.stderr
    assert (done.exit_code, done.stderr) == (0, "")
    assert "] Install" in done.stdout
    assert "Install harbourd and ebb" in agents_md(sample).stdout
    assert "Install harbourd and ebb" not in done.stdout


def test_file_that_cannot_be_read_stays_as_it_is(sample: Path, tmp_path: Path) -> None:
    file = tmp_path / "AGENTS.md"
    file.write_bytes(b"# R\xe8gles\n")
    done = agents_md(sample, "--into", file)
    assert done.exit_code != 0
    assert "not UTF-8 at byte 3" in done.stderr
    assert file.read_bytes() == b"# R\xe8gles\n"
    assert "cannot be written" in agents_md(sample, "--into", tmp_path / "none" / "AGENTS.md").stderr
