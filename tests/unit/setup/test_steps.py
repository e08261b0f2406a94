"""Which command of a deployment `roaming init` wraps: the one that builds the site whose folder is deployed."""

from __future__ import annotations

import textwrap
from pathlib import Path

import pytest

from mkdocs_roaming.setup.detect import find_setup
from mkdocs_roaming.setup.plan import make_plan

PIPX = "pipx run --spec mkdocs-roaming roaming build"
PACKAGE = "mkdocs-roaming"
PIP = "pip install mkdocs-roaming && roaming build"
ZENSICAL = {"zensical.toml": '[project]\nsite_name = "Osier"\nsite_url = "https://osier.example/"\n'}
MAKEFILE = """\
SPHINXBUILD = sphinx-build
BUILDDIR   ?= _build
html: help
\t@$(SPHINXBUILD) -M $@ . $(BUILDDIR) \\
\t  $(O)
"""
SPHINX = {
    "docs/conf.py": 'extensions = []\nhtml_baseurl = "https://osier.example/"\n',
    "docs/Makefile": MAKEFILE,
    "Makefile": "manual:\n\t$(MAKE) -C docs html\n\nupload: manual\n\trsync -a docs/_build/html osier.example:\n",
    "tools/manual.sh": "set -e\nsphinx-build docs docs/_build/html\n",
    "tools/deploy.sh": "sphinx-build docs docs/_build/html\nghp-import docs/_build/html\n",
}
MDBOOK = {"book.toml": '[output.html]\nsite-url = "https://osier.example/"\n'}
ASTRO = {
    "docs/astro.config.mjs": "import starlight from '@astrojs/starlight'; export default {site: 'https://osier.example'}",
    "docs/package.json": '{"scripts": {"build": "astro check && astro build", "all": "npm run build"}}',
    "package.json": '{"scripts": {"build": "npm run build --prefix docs"}}',
}


def write(folder: Path, files: dict[str, str]) -> None:
    (folder / ".git").mkdir(exist_ok=True)
    for path, text in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("files", "script", "output", "changed"),
    [
        # packages with the name of the generator, or of its subcommand, are installed
        (ZENSICAL, "pip install zensical", "site", None),
        (ZENSICAL, "uv pip install zensical build twine", "site", None),
        (ZENSICAL, "uv --quiet add zensical build", "site", None),
        (ZENSICAL, "uv run --with zensical build", "site", None),
        (ZENSICAL, "pip install zensical # it's the generator\nzensical build", "site", f"{PIPX} -- zensical build"),
        (ZENSICAL, "pipx run zensical build", "./site/", f"{PIPX} -- pipx run zensical build"),
        (
            ZENSICAL,
            "uv run -p 3.13 zensical build \\\n  --clean",
            "site",
            f"{PIPX} -- uv run -p 3.13 zensical build \\",
        ),
        # words and text around the command
        (ZENSICAL, "echo 'zensical build'; zensical build", "site", f"echo 'zensical build'; {PIPX} -- zensical build"),
        (ZENSICAL, "if LANG=C zensical build; then ls; fi", "site", f"if LANG=C {PIPX} -- zensical build; then ls; fi"),
        (ZENSICAL, "cat > notes <<END\nzensical build\nEND\n", "site", None),
        (ZENSICAL, "docker run willow zensical build", "site", None),
        (ZENSICAL, "cd elsewhere && zensical build", "site", None),
        (ZENSICAL, "zensical build 'unclosed", "site", None),
        # the folder that is deployed
        (ZENSICAL, "zensical build", "docs", None),
        (ZENSICAL, "zensical build\ncp -r site/. public", "public", f"{PIPX} -- zensical build"),
        (SPHINX, "sphinx-build -b linkcheck docs docs/_build/html", "docs/_build/html", None),
        (SPHINX, "sphinx-build docs ${{ matrix.folder }}", "docs/_build/html", None),
        (SPHINX, "sphinx-build docs public", "public", f"{PIPX} -- sphinx-build docs public"),
        (
            SPHINX,
            "python3 -m sphinx -b dirhtml docs public",
            "public",
            f"{PIPX} -- python3 -m sphinx -b dirhtml docs public",
        ),
        (MDBOOK, "mdbook build -d public", "public", f"{PIPX} -- mdbook build -d public"),
        # scripts, targets and folders
        (
            SPHINX,
            "(cd docs && make html)",
            "docs/_build",
            f"(cd docs && {PIPX} --config-file ../roaming.toml -- make html)",
        ),
        (SPHINX, "make -C docs html O=-W", "docs/_build/html", f"{PIPX} -- make -C docs html O=-W"),
        (SPHINX, "make manual", "docs/_build/html", f"{PIPX} -- make manual"),
        (SPHINX, "make upload", "docs/_build/html", None),
        (SPHINX, "sh tools/manual.sh", "docs/_build/html", f"{PIPX} -- sh tools/manual.sh"),
        (SPHINX, "sh tools/deploy.sh", "docs/_build/html", None),
        (SPHINX, "tox -e docs", "docs/_build/html", None),
        (ASTRO, "npm run docs", "docs/dist", None),
        (ASTRO, "cd docs; npm run all", "docs/dist", f"cd docs; {PIPX} -- npm run all"),
        (ASTRO, "npm install build --prefix docs", "docs/dist", None),
        (ASTRO, "pnpm --filter=willow build", "docs/dist", None),
    ],
)
def test_command_that_builds_the_deployed_folder_is_wrapped(
    files: dict[str, str], script: str, output: str, changed: str | None, tmp_path: Path
) -> None:
    lines = textwrap.indent(script, "          ")
    upload = f"      - uses: osier/upload@v1\n        with:\n          path: {output}\n"
    workflow = f"jobs:\n  docs:\n    steps:\n      - name: docs\n        run: |\n{lines}\n{upload}"
    write(tmp_path, {**files, ".github/workflows/docs.yml": workflow})
    plan = make_plan(find_setup(tmp_path))
    new = plan.new.get(tmp_path / ".github/workflows/docs.yml", workflow)
    added = [line.strip() for line in new.splitlines() if line not in workflow.splitlines()]
    assert added == ([changed] if changed else [])
    assert any("roaming build" in step for step in plan.steps) is (changed is None)


@pytest.mark.parametrize(
    ("name", "text", "changed"),
    [
        ("vercel.json", '{"buildCommand": "zensical build", "outputDirectory": "site"}', f"{PIP} -- zensical build"),
        ("netlify.toml", '[build]\ncommand = "LANG=C zensical build"\npublish = "site"\n', None),
        ("netlify.toml", '[build]\ncommand = "ls || zensical build"\npublish = "site"\n', None),
        (".gitlab-ci.yml", "image: node:24\npages:\n  script: zensical build\n  publish: site\n", None),
        (
            ".gitlab-ci.yml",
            "image: python\npages:\n  script: zensical build\n  publish: site\n",
            f"{PIP} -- zensical build",
        ),
        (".readthedocs.yaml", "build: {commands: [zensical build, mv site out]}\n", f"{PIP} -- zensical build"),
        (".github/workflows/a.yml", "jobs: {a: {container: node, steps: [run: zensical build, run: ls site]}}\n", None),
        (
            ".github/workflows/a.yml",
            "jobs: {a: {runs-on: self-hosted, steps: [run: zensical build, run: ls site]}}",
            None,
        ),
        (".github/workflows/a.yml", "jobs: {a: {steps: [run: zensical build, run: ls site]}}\n", f"{PIPX} -- zensical"),
        (".github/workflows/a.yml", "jobs: {a: [], b: {steps: [1, run: {c: d}]}, c: {uses: osier/a@v1}}\n", None),
        (".github/workflows/a.yml", "jobs: [\n", None),
        (".github/workflows/a.yml", "jobs: &jobs {a: *jobs}\n", None),
        (".github/workflows/a.yml", "- zensical build\n", None),
    ],
)
def test_forms_of_workflows_and_hosts(name: str, text: str, changed: str | None, tmp_path: Path) -> None:
    write(tmp_path, {**ZENSICAL, name: text})
    new = make_plan(find_setup(tmp_path)).new.get(tmp_path / name, text)
    assert (changed or "zensical build") in new if changed else new == text


@pytest.mark.parametrize(
    ("files", "is_added"),
    [
        ({"requirements.txt": "mkdocs-material\n"}, True),
        ({"requirements.txt": "# autogenerated by pip-compile\nmkdocs-material==9\n"}, False),
        ({"pyproject.toml": '[dependency-groups]\ndocs = ["mkdocs"]\n'}, True),
        ({"pyproject.toml": '[build-system]\n[project]\ndependencies = ["mkdocs"]\n'}, False),
        ({"tox.ini": "[testenv:docs]\ndeps =\n    mkdocs\ncommands =\n    mkdocs build\n"}, True),
        ({"requirements.txt": "mkdocs\n", "tox.ini": "[testenv:docs]\ncommands = mkdocs build -f mkdocs.yml\n"}, True),
        ({"requirements.txt": "mkdocs\n", "docs/environment.yml": "dependencies:\n  - mkdocs-material\n"}, False),
        ({"requirements.txt": "mkdocs\n", "Pipfile": '[dev-packages]\nmkdocs = "*"\n'}, False),
        ({"mkdocs-requirements.txt": "mkdocs\n", "requirements.txt": "pillow  # mkdocs\n"}, True),
        ({"setup.cfg": "[options.extras_require]\ndocs =\n    mkdocs\n"}, True),
        ({".github/workflows/a.yml": "jobs: {a: {steps: [run: pip install 'mkdocs>=1.6' pillow]}}\n"}, True),
        ({".github/workflows/a.yml": "jobs: {a: {steps: [run: uvx --with mkdocs-material mkdocs build]}}\n"}, False),
        ({"requirements.txt": "mkdocs\n", "mkdocs.yml": "strict: true\n"}, False),
        ({}, False),
    ],
)
def test_plugin_is_added_where_each_list_of_the_generator_has_the_package(
    files: dict[str, str], is_added: bool, tmp_path: Path
) -> None:
    deployment = {".github/workflows/docs.yml": "jobs: {a: {steps: [run: mkdocs gh-deploy]}}\n"}
    write(tmp_path, {"mkdocs.yml": "site_url: https://osier.example/\n", **deployment, **files})
    plan = make_plan(find_setup(tmp_path))
    assert (tmp_path / "mkdocs.yml" in plan.new) is is_added
    assert any("add to " in step and "mkdocs.yml" in step for step in plan.steps) is not is_added
    assert all(text.count("mkdocs-roaming") == 1 for file, text in plan.new.items() if file.name != "mkdocs.yml")


def test_site_without_deployment_is_the_folder_of_its_makefile(tmp_path: Path) -> None:
    write(tmp_path, SPHINX | {"docs/Makefile": MAKEFILE.replace("_build", "out")})
    assert 'site_dir = "docs/out/html"' in make_plan(find_setup(tmp_path)).new[tmp_path / "roaming.toml"]


def test_table_of_groups_is_no_list_of_packages(tmp_path: Path) -> None:
    text = (
        '[project.optional-dependencies]\nmkdocs = ["mkdocs"]\n\n[tool.poetry.group.docs.dependencies]\nmkdocs = "*"\n'
    )
    write(tmp_path, {"mkdocs.yml": "site_url: https://osier.example/\n", "pyproject.toml": text})
    lines = make_plan(find_setup(tmp_path)).new[tmp_path / "pyproject.toml"].splitlines()
    assert lines[1] == 'mkdocs = ["mkdocs", "mkdocs-roaming"]'
    assert [line.partition(" ")[0] for line in lines[3:]] == [
        "[tool.poetry.group.docs.dependencies]",
        "mkdocs",
        PACKAGE,
    ]
