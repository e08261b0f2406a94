"""The addresses under which the benchmark of `roaming deps` serves documentation, and its questions."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest
from deps_web import Web

QUESTIONS = Path(__file__).parents[3] / "benchmarks" / "deps_questions.tsv"
BUILT = {
    "click": ("7.1.2", "8.1.7"),
    "redis": ("5.0.8",),
    "starlette": ("0.20.4", "0.38.2"),
    "pooch": ("1.8.2",),
    "falcon": ("3.1.3",),
    "fastify": ("3.29.5", "4.28.1"),
    "pino": ("9.4.0",),
    "typer": ("0.7.0",),
}


@pytest.fixture
def web(tmp_path: Path) -> Web:
    for name, versions in BUILT.items():
        for version in versions:
            (tmp_path / name / version / "guide").mkdir(parents=True)
            for page in ("index.html", "guide/index.html"):
                (tmp_path / name / version / page).write_text(f"<head></head><body>{name} {version} {page}", "utf-8")
    package = tmp_path / ".sources" / "fastify-4.28.1" / "package"
    package.mkdir(parents=True)
    (package / "package.json").write_text(json.dumps({"name": "fastify", "homepage": "https://fastify.dev/"}), "utf-8")
    return Web(tmp_path)


@pytest.mark.parametrize(
    ("url", "status", "found"),
    [
        ("https://click.palletsprojects.com/", 302, "https://click.palletsprojects.com/en/stable/"),
        ("https://click.palletsprojects.com/en", 302, "https://click.palletsprojects.com/en/stable/"),
        ("https://click.palletsprojects.com/en/7.x/", 200, "click 7.1.2 index.html"),
        ("https://click.palletsprojects.com/en/7.x/guide", 301, "https://click.palletsprojects.com/en/7.x/guide/"),
        ("https://click.palletsprojects.com/en/stable/guide/", 200, "click 8.1.7 guide"),
        ("https://click.palletsprojects.com/en/6.x/", 404, ""),
        ("https://click.palletsprojects.com/sitemap.xml", 200, "<loc>https://click.palletsprojects.com/en/7.x/</loc>"),
        ("https://redis.readthedocs.io/sitemap.xml", 404, ""),
        ("https://www.starlette.io/", 200, "url=latest/"),
        ("https://www.starlette.io/versions.json", 200, '"version": "0.20"'),
        ("https://www.starlette.io/latest/", 200, "starlette 0.38.2"),
        ("https://encode.github.io/starlette/", 301, "https://www.starlette.io/"),
        ("https://www.fatiando.org/pooch/switcher.json", 200, '"url": "https://www.fatiando.org/pooch/v1.8.2/"'),
        ("https://www.fatiando.org/pooch/latest/", 200, "theme_switcher_json_url"),
        ("https://falconframework.org/", 200, 'href="https://falcon.readthedocs.io/"'),
        ("https://fastify.dev/docs/latest/", 200, 'href="https://fastify.dev/docs/v3.29.x/"'),
        ("https://getpino.io/v9/", 200, "pino 9.4.0"),
        ("https://getpino.io/v8/guide/", 200, "pino 9.4.0 index.html"),
        ("https://typer.tiangolo.com/guide/", 200, "typer 0.7.0 guide"),
        ("https://nothing.example/", 404, ""),
    ],
)
def test_reply_follows_the_form_of_the_site(web: Web, url: str, status: int, found: str) -> None:
    reply = web.reply(url)

    assert reply.status == status
    assert found in (reply.location or reply.body.decode())


def test_find_version_names_the_version_of_a_page(web: Web) -> None:
    site = web.find_site("https://click.palletsprojects.com/en/stable/guide/")

    assert site is not None
    assert web.find_version(site, "https://click.palletsprojects.com/en/stable/guide/") == ("8.1.7", "guide/")
    assert web.find_version(site, "https://click.palletsprojects.com/") is None


def test_packument_has_the_metadata_of_every_version(web: Web) -> None:
    found = json.loads(web.packument("fastify").body)

    assert {version: one["homepage"] for version, one in found["versions"].items()} == dict.fromkeys(
        ("3.29.5", "4.28.1"), "https://fastify.dev/"
    )
    assert web.packument("left-pad").status == 404


def test_questions_are_about_two_versions_of_the_table(web: Web) -> None:
    with QUESTIONS.open(encoding="utf-8", newline="") as file:
        rows = list(csv.reader(file, delimiter="\t", quoting=csv.QUOTE_NONE))
    planned = {site.name: list(site.versions) for site in web.planned}

    assert len(rows) == 40
    assert len({row[0] for row in rows}) >= 10
    for package, locked, other, question, expected in rows:
        assert sorted((locked, other)) == sorted((planned[package][0], planned[package][-1]))
        assert question.endswith("?")
        assert expected
