"""What `roaming init` says of deployments: which lines build the site, and which files list its generator."""

from __future__ import annotations

from pathlib import Path

import pytest

from mkdocs_roaming.setup.detect import find_setup
from mkdocs_roaming.setup.plan import Plan, make_plan

GITHUB = ".github/workflows/docs.yml"
ZENSICAL = {"zensical.toml": '[project]\nsite_name = "Osier"\nsite_url = "https://osier.example/"\n'}
SPHINX = {
    "docs/conf.py": 'extensions = []\nhtml_baseurl = "https://osier.example/"\n',
    "docs/Makefile": "BUILDDIR   ?= out\nhtml: help\n\t@$(SPHINXBUILD) -M $@ . $(BUILDDIR)\n",
}
ASTRO = {
    "docs/astro.config.mjs": "import starlight from '@astrojs/starlight'; export default {site: 'https://osier.example'}",
    "docs/package.json": "{}",
}


def plan_for(folder: Path, *files: dict[str, str]) -> Plan:
    (folder / ".git").mkdir()
    for path, text in (pair for part in files for pair in part.items()):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")
    return make_plan(find_setup(folder))


def job(*commands: str, uses: str = "path: site") -> str:
    """Return a workflow, whose first command is on line 4."""
    steps = "".join(f"      - run: {command}\n" for command in commands)
    return f"jobs:\n  docs:\n    steps:\n{steps}      - with: {{{uses}}}\n"


@pytest.mark.parametrize(
    ("files", "name", "text", "expected"),
    [
        (ZENSICAL, GITHUB, job("pip install zensical build", "zensical build"), ["5:zensical build"]),
        (ZENSICAL, GITHUB, job("uv run -p 3.13 zensical build --clean"), ["4:uv run -p 3.13 zensical build --clean"]),
        (ZENSICAL, GITHUB, job("cd web && zensical build # it's here"), ["4:zensical build"]),
        (ZENSICAL, GITHUB, job("echo zensical build", "uv add zensical build"), []),
        (ZENSICAL, GITHUB, "# zensical build\nname: zensical build\n", []),
        (ZENSICAL, "netlify.toml", '[build]\ncommand = "zensical build"\n', ["2:zensical build"]),
        (
            ZENSICAL,
            "vercel.json",
            '{"buildCommand": "uvx zensical build", "outputDirectory": "site"}',
            ["1:uvx zensical build"],
        ),
        (ZENSICAL, ".gitlab-ci.yml", "pages:\n  script: zensical build\n  publish: site\n", ["2:zensical build"]),
        (ZENSICAL, ".readthedocs.yaml", "build: {commands: [zensical build, mv site out]}\n", ["1:zensical build"]),
        (ZENSICAL, GITHUB, job("roaming build -- zensical build"), []),
        (SPHINX, GITHUB, job("sphinx-build -b linkcheck docs out"), []),
        (SPHINX, GITHUB, job("make -C docs html", uses="path: docs/out/html"), ["4:make -C docs html"]),
        (
            SPHINX,
            GITHUB,
            job("python3 -m sphinx -b dirhtml docs public"),
            ["4:python3 -m sphinx -b dirhtml docs public"],
        ),
        (ASTRO, GITHUB, job("npm run docs:build --prefix docs"), ["4:npm run docs:build --prefix docs"]),
        (ASTRO, GITHUB, job("npm run lint", "npm run docs"), []),
        (ASTRO, GITHUB, "jobs: [\n", []),
    ],
)
def test_lines_that_build_the_site_are_named(
    files: dict[str, str], name: str, text: str, expected: list[str], tmp_path: Path
) -> None:
    plan = plan_for(tmp_path, files, {name: text})
    prefix = "pipx run --spec mkdocs-roaming roaming" if name == GITHUB else "pip install mkdocs-roaming && roaming"
    steps = [step for step in plan.steps if "in front of" in step]
    assert len(steps) == len(expected)
    for step, line in zip(steps, expected, strict=True):
        number, command = line.split(":", 1)
        assert step.startswith(f"{tmp_path / name}:{number}: write `{prefix} build")
        assert command in step.partition(" --` in front of the command in `")[2]
    assert any("no workflow or host's" in step for step in plan.steps) is (not expected and "roaming" not in text)
    assert tmp_path / name not in plan.new


def test_folder_of_sphinx_is_that_of_its_makefile(tmp_path: Path) -> None:
    plan = plan_for(tmp_path, SPHINX, {GITHUB: job("tox -e docs")})
    assert 'site_dir = "docs/out/html"' in plan.new[tmp_path / "roaming.toml"]


def test_folder_of_the_configuration_is_named(tmp_path: Path) -> None:
    (step,) = plan_for(tmp_path, SPHINX, {GITHUB: job("cd docs && make html")}).steps
    assert "--config-file PATH/TO/roaming.toml --`" in step


def test_sphinx_at_read_the_docs_is_published_after_its_build(tmp_path: Path) -> None:
    steps = plan_for(tmp_path, SPHINX, {".readthedocs.yaml": "sphinx: {configuration: docs/conf.py}\n"}).steps
    assert [step.partition(": ")[2] for step in steps] == [
        "add to build.jobs.post_build: `pip install mkdocs-roaming` and "
        '`roaming index "$READTHEDOCS_OUTPUT/html" --url "$READTHEDOCS_CANONICAL_URL"`'
    ]


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        ({"requirements.txt": "mkdocs-material\n"}, "requirements.txt"),
        ({"requirements.txt": "mkdocs-roaming\nmkdocs\n"}, ""),
        ({"pyproject.toml": '[dependency-groups]\ndocs = ["mkdocs"]\n'}, "pyproject.toml"),
        ({"tox.ini": "[testenv:docs]\ndeps =\n    mkdocs\ncommands =\n    mkdocs build\n"}, "tox.ini"),
        ({"requirements.txt": "mkdocs\n", "tox.ini": "[testenv]\ncommands = mkdocs build\n"}, "requirements.txt"),
        (
            {"requirements.txt": "mkdocs-roaming\nmkdocs\n", "docs/environment.yml": "dependencies:\n  - mkdocs\n"},
            "docs/environment.yml",
        ),
        ({"mkdocs-requirements.txt": "mkdocs\n", "requirements.txt": "pillow  # mkdocs\n"}, "mkdocs-requirements.txt"),
        ({"pyproject.toml": '[tool.poetry.group.docs.dependencies]\nmkdocs = "*"\n'}, "pyproject.toml"),
        ({"a.yml": "{steps: [run: pip install 'mkdocs>=1.6' pillow]}\n"}, ".github/workflows/a.yml"),
        ({"a.yml": "{steps: [run: uvx --with mkdocs-material mkdocs build]}\n"}, ".github/workflows/a.yml"),
        ({"a.yml": "{steps: [run: pip install -r requirements.txt && mkdocs build]}\n"}, "pip install mkdocs-roaming"),
        ({}, "pip install mkdocs-roaming"),
    ],
)
def test_lists_that_lack_the_plugin_are_named(files: dict[str, str], expected: str, tmp_path: Path) -> None:
    deployment = {GITHUB: "jobs: {a: {steps: [run: mkdocs gh-deploy]}}\n"}
    texts = {path.replace("a.yml", ".github/workflows/a.yml"): text for path, text in files.items()}
    plan = plan_for(tmp_path, {"mkdocs.yml": "site_url: https://osier.example/\n"}, deployment, texts)
    assert [step.rpartition(": ")[2] for step in plan.steps] == ([expected] if expected else [])
    assert list(plan.new) == [tmp_path / "mkdocs.yml"]
