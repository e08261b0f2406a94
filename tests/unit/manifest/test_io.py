"""Manifest files: JSON, digest, schema and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import jsonschema
import pytest
from manifests import API, GUIDE, build

from mkdocs_roaming.errors import ManifestError
from mkdocs_roaming.manifest.io import (
    compute_manifest_digest,
    dump_manifest,
    load_manifest,
    render_schema,
    validate_manifest,
    with_digest,
)
from mkdocs_roaming.manifest.models import NavItem


def test_load_manifest_returns_dumped_manifest() -> None:
    manifest = build(
        {"guide/": GUIDE, "api/": API}, (NavItem("Guide", "guide/"), NavItem("Forum", url="https://f.example/"))
    )
    text = dump_manifest(manifest)
    assert load_manifest(text) == with_digest(manifest)
    assert dump_manifest(load_manifest(text)) == text
    assert validate_manifest(text) == []


def test_digest_covers_all_fields() -> None:
    data = json.loads(dump_manifest(build({"guide/": GUIDE})))
    assert data["digest"] == compute_manifest_digest(data)
    data["pages"][0]["title"] = "Other"
    assert validate_manifest(json.dumps(data)) == ["digest: does not match the rest of the manifest"]


def test_load_manifest_ignores_unknown_fields_and_refuses_higher_versions() -> None:
    data = json.loads(dump_manifest(build({"guide/": GUIDE})))
    data["later"] = data["pages"][0]["later"] = {"x": 1}
    assert load_manifest(json.dumps(data)).pages[0].title == "Guide"
    data["version"] = 2
    with pytest.raises(ManifestError, match=r"version 2, this reads up to 1; upgrade"):
        load_manifest(json.dumps(data))


def invalid_manifests() -> Iterator[tuple[str, object]]:
    yield "not json", "{"
    yield "no manifest", "[]"
    yield "no pages", '{"version": 1}'
    for number in ("1" * 100_000, "-" + "1" * 100_000, "1e999", "1.5", "NaN", '"\\ud800"', "[" * 5_000 + "]" * 5_000):
        yield "version", f'{{"version": {number}, "pages": []}}'
    base = json.loads(dump_manifest(build({"guide/": GUIDE})))
    for name, path, value in (
        ("id leads out", ("pages", 0, "sections", 0, "id"), "../../x"),
        ("page's id another", ("pages", 0, "id"), "00000000"),
        ("end beyond", ("pages", 0, "sections", 0, "end"), 10**9),
        ("page's url a script", ("pages", 0, "url"), "javascript:alert(1)"),
        ("no pages at all", ("pages",), []),
        ("site's url broken", ("site", "url"), "http://[/"),
        ("site's port too high", ("site", "url"), "http://a:99999999/"),
        ("site's url data", ("site", "url"), "data:text/html,x/"),
    ):
        data = json.loads(json.dumps(base))
        at = data
        for step in path[:-1]:
            at = at[step]
        at[path[-1]] = value
        yield name, json.dumps(data)
    deep = json.loads(json.dumps(base))
    inner: dict[str, object] = {"title": "x"}
    for _ in range(200):
        inner = {"title": "x", "id": "00000000", "children": [inner]}
    deep["nav"] = [inner]
    yield "nav too deep", json.dumps(deep)


@pytest.mark.parametrize(
    ("name", "text"), list(invalid_manifests()), ids=lambda value: value if len(str(value)) < 20 else ""
)
def test_load_manifest_reports_invalid_manifest_in_one_line(name: str, text: str) -> None:
    with pytest.raises(ManifestError) as caught:
        load_manifest(text, where="x.json")
    assert str(caught.value).startswith("x.json: ")
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 250
    assert validate_manifest(text)


def test_schema_is_valid_json_schema() -> None:
    jsonschema.Draft202012Validator.check_schema(json.loads(render_schema()))


def corruptions() -> Iterator[tuple[tuple[str | int, ...], object]]:
    for path in paths(COMPLETE):
        yield from ((path, value) for value in (DELETED, None, True, 7, -1, 10**12, 1.5, "", "x" * 300, ["a"] * 12, {}))


DELETED = object()
COMPLETE = json.loads((Path(__file__).parents[2] / "golden/manifest/complete.json").read_text("utf-8"))


def paths(value: object, above: tuple[str | int, ...] = ()) -> Iterator[tuple[str | int, ...]]:
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*above, key)
        yield from paths(item, (*above, key))


def test_validate_manifest_reports_violations_of_published_schema() -> None:
    validator = jsonschema.Draft202012Validator(json.loads(render_schema()))
    assert validator.is_valid(COMPLETE)
    for path, value in corruptions():
        data = json.loads(json.dumps(COMPLETE))
        parent = data
        for key in path[:-1]:
            parent = parent[key]
        if value is DELETED:
            del parent[path[-1]]
        else:
            parent[path[-1]] = value
        faults = [
            fault for fault in validate_manifest(json.dumps(data)) if not fault.startswith("digest: does not match")
        ]
        if not validator.is_valid(data):
            assert faults, (path, value)
        elif faults:  # of ids and sizes that do not fit each other
            with pytest.raises(ManifestError):
                load_manifest(json.dumps(data))
