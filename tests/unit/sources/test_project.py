"""The configuration of a site's generator."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.sources.project import find_project, read_project

MKDOCS = """\
INHERIT: base.yml
site_name: Harbour
site_url: !ENV [HARBOUR_URL, "https://docs.example/"]
docs_dir: handbook
plugins:
  search: {}
  roaming:
    exclude: [internal/]
    enabled: !ENV [HARBOUR_PUBLISH, false]
markdown_extensions:
  - pymdownx.snippets: {base_path: [parts, !relative $config_dir]}
  - toc: {slugify: !!python/object/apply:pymdownx.slugs.slugify {kwds: {case: lower}}}
  - pymdownx.emoji: {emoji_index: !!python/name:material.extensions.emoji.twemoji ""}
"""


def write(folder: Path, **files: str) -> None:
    for name, text in files.items():
        file = folder / name.replace("__", "/").replace("_", ".")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, "utf-8")


def test_mkdocs_yml_is_read_with_parent_and_environment(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path, mkdocs_yml=MKDOCS, base_yml="site_description: Tides.\nnav: [index.md]\nplugins: [other]\n")
    (tmp_path / "handbook").mkdir()
    monkeypatch.setenv("HARBOUR_PUBLISH", "true")
    monkeypatch.delenv("HARBOUR_URL", raising=False)
    project = read_project(tmp_path / "mkdocs.yml")
    assert (project.name, project.url, project.description) == ("Harbour", "https://docs.example/", "Tides.")
    assert project.block == {"exclude": ["internal/"], "enabled": True}
    assert (project.nav, project.docs, project.site) == (["index.md"], tmp_path / "handbook", tmp_path / "site")
    assert project.snippets == (tmp_path / "parts",)
    assert project.parse_options({"llms_full": False}).exclude == ("internal/",)


@pytest.mark.parametrize(
    ("plugins", "block"),
    [
        ("[search, roaming]", {}),
        ("[search, {roaming: }]", {}),
        ("[search, {roaming: {llms_full: false}}]", {"llms_full": False}),
        ("{search: {}, roaming: {llms_full: false}}", {"llms_full": False}),
        ("{search: {}, roaming: }", {}),
        ("[search]", None),
        ("[]", None),
    ],
)
def test_roaming_block_is_found_in_lists_and_mappings(tmp_path: Path, plugins: str, block: Any) -> None:
    write(tmp_path, mkdocs_yml=f"site_name: A\nplugins: {plugins}\n")
    assert read_project(tmp_path / "mkdocs.yml").block == block


def test_zensical_toml_is_read(tmp_path: Path) -> None:
    write(
        tmp_path,
        zensical_toml='[project]\nsite_name = "A"\nsite_url = "https://a.example"\nnav = [{"Home" = "index.md"}]\n'
        "[project.plugins.roaming]\nwidget = true\n[project.plugins.awesome-nav]\n"
        '[project.markdown_extensions.pymdownx.snippets]\nbase_path = "parts"\n',
    )
    project = read_project(tmp_path / "zensical.toml")
    assert (project.name, project.url, project.block) == ("A", "https://a.example", {"widget": True})
    assert project.nav is None, "awesome-nav replaces it"
    assert project.snippets == (tmp_path / "parts",)


def test_own_table_has_options_and_place_of_the_site(tmp_path: Path) -> None:
    write(tmp_path, roaming_toml='[publish]\nsite_url = "https://a.example/"\nsite_dir = "build"\nexclude = ["x/"]\n')
    project = read_project(tmp_path / "roaming.toml")
    assert (project.url, project.site, project.block) == ("https://a.example/", tmp_path / "build", {"exclude": ["x/"]})
    assert project.generator is None


@pytest.mark.parametrize(
    ("files", "message"),
    [
        ({"mkdocs_yml": "site_name: [\n"}, "mkdocs.yml: invalid YAML"),
        ({"mkdocs_yml": "- a\n"}, "mkdocs.yml: expected a mapping"),
        ({"mkdocs_yml": "site_name: 3\n"}, "mkdocs.yml: site_name: expected a text, got 3"),
        ({"mkdocs_yml": "INHERIT: mkdocs.yml\n"}, "does a file inherit itself?"),
        ({"mkdocs_yml": "INHERIT: none.yml\n"}, "none.yml: cannot be read: No such file"),
        ({"mkdocs_yml": "plugins:\n- roaming: x\n"}, "mkdocs.yml: roaming: expected a mapping of options, got 'x'"),
        ({"zensical_toml": "[project\n"}, "zensical.toml: not TOML"),
        ({"roaming_toml": "publish = 3\n"}, "roaming.toml: expected the table [publish], got 3"),
    ],
)
def test_invalid_configuration_is_reported_with_its_file(tmp_path: Path, files: dict[str, str], message: str) -> None:
    write(tmp_path, **files)
    with pytest.raises(UsageError) as error:
        find_project(config_file=next(tmp_path.iterdir()))
    assert message in str(error.value)


def test_invalid_option_names_file(tmp_path: Path) -> None:
    write(tmp_path, mkdocs_yml="plugins: [{roaming: {exlude: x}}]\n")
    with pytest.raises(UsageError, match=r"mkdocs\.yml: roaming: exlude: unknown option; did you mean `exclude`"):
        read_project(tmp_path / "mkdocs.yml").parse_options({})


def find(site: Path) -> tuple[str, list[str]]:
    """Return the file that is used for a site, and the warnings."""
    warnings: list[str] = []
    return str(find_project(site, warn=warnings.append).file), warnings


def test_configuration_is_found_above_site(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    block = "plugins: [roaming]\n"
    write(tmp_path, mkdocs_yml=block, docs__mkdocs_yml=block, other__zensical_toml="[project.plugins.roaming]\n")
    monkeypatch.chdir(tmp_path)
    assert find(Path("build/html")) == ("mkdocs.yml", [])
    assert find(Path("docs/site")) == ("docs/mkdocs.yml", [])
    monkeypatch.chdir(tmp_path / "docs")
    assert find(tmp_path / "other/site") == (str(tmp_path / "other/zensical.toml"), [])
    assert find(tmp_path.parent / "site") == (
        "None",
        [
            f"mkdocs.yml: ignored, because {tmp_path.parent / 'site'} is in another folder; "
            "to use it, add --config-file mkdocs.yml"
        ],
    )


def test_one_file_has_the_options(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(
        tmp_path, zensical_toml='[project]\nsite_name = "A"\n', mkdocs_yml="site_name: B\n", roaming_toml="[publish]\n"
    )
    project = find_project(Path("site"))
    assert (project.name, project.block, str(project.file)) == ("A", {}, "roaming.toml")
    assert str(project.generator) == "zensical.toml"
    write(tmp_path, mkdocs_yml="site_name: B\nplugins: [roaming]\n")
    assert find(Path("site")) == (
        "mkdocs.yml",
        ["roaming.toml: its options are ignored, because mkdocs.yml has some; keep them in one file"],
    )


def test_sources_are_named_by_paths_of_pages(tmp_path: Path) -> None:
    write(
        tmp_path,
        mkdocs_yml="site_name: A\n",
        docs__index_md="",
        docs__a__README_md="",
        docs__a__index_md="",
        docs__b__c_md="",
    )
    project = read_project(tmp_path / "mkdocs.yml")
    assert project.find_sources() == {"": "index.md", "a/": "a/index.md", "b/c/": "b/c.md"}
    write(tmp_path, mkdocs_yml="site_name: A\nplugins: [offline]\n")
    assert read_project(tmp_path / "mkdocs.yml").find_sources()["b/c.html"] == "b/c.md"
