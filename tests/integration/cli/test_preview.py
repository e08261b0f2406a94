"""`roaming preview`."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import httpx2
import pytest

PAGES = {
    "index.html": "<h1>Kettle</h1><p>Boils water.</p>",
    "guide/index.html": "<h1>Guide</h1><p>Use it.</p>",
    "internal/plan/index.html": "<h1>Plan</h1><p>The zebra launches in May.</p>",
}


@pytest.fixture
def site(tmp_path: Path) -> Path:
    for path, body in PAGES.items():
        file = tmp_path / "site" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"<html><head><title>{path}</title></head><body><main>{body}</main></body>")
    (tmp_path / "mkdocs.yml").write_text(
        "site_name: Kettle\nsite_url: https://kettle.example/docs/\nplugins:\n- roaming:\n    exclude: [internal/]\n"
    )
    return tmp_path / "site"


def run(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "mkdocs_roaming", "preview", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_preview_serves_a_built_site_with_its_configuration(site: Path) -> None:
    command = [sys.executable, "-m", "mkdocs_roaming", "preview", "site", "--port", "0", "--no-browser"]
    with subprocess.Popen(command, cwd=site.parent, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        url = process.stdout.readline().split()[0]
        try:
            assert url.endswith("/docs/roaming/preview/")
            shown = httpx2.get(f"{url}data/site.json").json()
            assert "Use it." in httpx2.get(f"{url}../../guide/").text
        finally:
            process.terminate()
    assert (shown["name"], [page["path"] for page in shown["pages"]]) == ("Kettle", ["", "guide/"])
    assert [page["path"] for page in shown["left_out"]] == ["internal/plan/"]
    assert sorted(file.name for file in site.iterdir()) == ["guide", "index.html", "internal"]


def test_preview_of_an_occupied_port_names_the_option(site: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-u", "-m", "http.server", "0", "--bind", "127.0.0.1"], stdout=subprocess.PIPE, text=True
    ) as other:
        assert other.stdout is not None
        port = other.stdout.readline().split("port ")[1].split()[0]
        done = run(site.parent, "site", "--port", port, "--no-browser")
        other.terminate()
    assert done.returncode == 1
    assert "--port" in done.stderr


def test_preview_of_a_missing_folder_says_so(tmp_path: Path) -> None:
    done = run(tmp_path, "nowhere", "--no-browser")
    assert (done.returncode, "no such folder" in done.stderr) == (1, True)
