"""mkdocs-encryptcontent-plugin: encrypted text is not published."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from .conftest import Project

pytestmark = pytest.mark.slow

HOME = "# Home\n\nRead [the vault](password.md#dial).\n"
SECRET = "The combination is plugh-twelve.\n\n## Dial\n\nTurn plughwards, `plugh --open`, ten times.\n"
LONG = "\n\n".join(f"Paragraph {at} tells at length about lamps." for at in range(30))
INLINE = f"---\npassword: pw\ninject_id: hidden\n---\n# Lamps\n\n{LONG}\n\n"
INLINE += (
    '<div id="hidden" markdown>\n\nThe word is plugh.\n\n### Plughs\n\nAgain plugh.\n\n</div>\n\n## After\n\nThe end.\n'
)
MARKDOWN = ["md_in_html", "toc"]


def plugins(options: dict[str, Any] | None = None, *, first: bool = False, **roaming: Any) -> list[Any]:
    both = [{"encryptcontent": {"kdf_pow": 1, **(options or {})}}, {"roaming": roaming}]
    return ["search", *(reversed(both) if first else both)]


def files_with_secret(folder: Path) -> list[str]:
    """Return the files with the secret, except sources and the search index."""
    found = []
    for file in folder.rglob("*"):
        name = file.relative_to(folder).as_posix()
        if file.is_file() and not name.startswith(("docs/", "mkdocs.yml", "site/search/", "encryptcontent.cache")):
            found += [name] if b"plugh" in file.read_bytes().lower() else []
    return found


VAULTS = {
    "password.md": "---\npassword: pw\n---\n# Vault\n\n" + SECRET,
    "level.md": "---\nlevel: staff\n---\n# Vault\n\n" + SECRET,
    "obfuscate.md": "---\nobfuscate: pw\n---\n# Vault\n\n" + SECRET,
    "untitled.md": "---\npassword: pw\ndescription: A plugh.\ntags: [plugh]\n---\n" + SECRET,
    "short.md": "---\npassword: pw\n---\n# Short\n\nplugh\n",
}
STAFF = {"password_inventory": {"staff": {"ada": "pw"}}}


@pytest.mark.parametrize(
    ("options", "first"),
    [
        (STAFF, True),
        ({**STAFF, "search_index": "dynamically", "tag_encrypted_page": False}, False),
        ({**STAFF, "encrypted_something": {"toc": ["div", "class"]}, "title_prefix": "[Locked] "}, False),
        ({**STAFF, "encrypted_something": {"toc": ["div", "class"]}, "global_password": "pw"}, True),
    ],
    ids=["ours first", "search encrypted", "something more", "all encrypted but one"],
)
def test_encrypted_page_appears_in_no_published_file_and_no_cache(
    mkdocs: Project, tmp_path: Path, options: dict[str, Any], first: bool
) -> None:
    """A warning names the page, and links lead to its HTML."""
    home = "---\npassword: ''\nlevel: ''\n---\n" + HOME if "global_password" in options else HOME
    mkdocs.write({"index.md": home, **VAULTS}, plugins=plugins(options, first=first))
    built = mkdocs.build_in_subprocess()
    assert built.paths() == [""]
    warnings = built.messages(logging.WARNING)
    assert [line.split(":")[1].strip() for line in warnings] == sorted(VAULTS)
    assert all("the built page does not show the words of its article" in line for line in warnings)
    # the description is in the head of the page
    assert set(files_with_secret(tmp_path)) <= {"site/untitled/index.html"}
    assert "[the vault](https://docs.example/sub/password/#dial)" in built.text("index.md")
    assert "data-roaming" not in built.text("password/index.html")
    assert (tmp_path / ".cache/roaming").is_dir()
    assert built.faults == ()


@pytest.mark.parametrize(("theme", "first"), [("mkdocs", True), ("readthedocs", False), ("material", False)])
def test_encrypted_part_of_page_is_not_published(mkdocs: Project, tmp_path: Path, theme: str, first: bool) -> None:
    """The rest of the page is published, without the cipher text."""
    mkdocs.write(
        {"index.md": "# Home\n", "lamps.md": INLINE},
        plugins=plugins(first=first),
        theme={"name": theme, **({"font": False} if theme == "material" else {})},
        markdown_extensions=MARKDOWN,
    )
    built = mkdocs.build_in_subprocess()
    assert built.paths() == ["", "lamps/"]
    assert set(files_with_secret(tmp_path)) <= {"site/lamps/index.html"}  # its own table of contents names the heading
    assert built.files_with("lugh") == []
    text = built.text("lamps/index.md")
    assert "# Lamps\n\nParagraph 0 tells" in text
    assert text.endswith("## After\n\nThe end.\n")
    assert ";" not in text
    assert "assword" not in text
    assert (
        "roaming: lamps.md: the built page hides a part of its article; only the rest is published" in built.messages()
    )
    assert built.faults == ()


def test_page_encrypted_later_is_removed_from_site_and_cache(mkdocs: Project, tmp_path: Path) -> None:
    opened = {
        "index.md": "# Home\n",
        "vault.md": "# Vault\n\n" + SECRET,
        "lamps.md": INLINE.replace("password: pw\ninject_id: hidden\n", "x: y\n"),
    }
    mkdocs.write(opened, plugins=plugins(), markdown_extensions=MARKDOWN)
    mkdocs.build_in_subprocess()
    assert len([name for name in files_with_secret(tmp_path) if name.startswith(".cache")]) >= 2
    locked = {**opened, "vault.md": VAULTS["password.md"], "lamps.md": INLINE}
    mkdocs.write(locked, plugins=plugins(), markdown_extensions=MARKDOWN)
    outputs = []
    for _ in range(2):
        built = mkdocs.build_in_subprocess()
        assert not [name for name in files_with_secret(tmp_path) if name.startswith(".cache")]
        assert built.paths() == ["", "lamps/"]
        assert built.files_with("lugh") == []
        outputs.append(built.text("roaming/manifest.json"))
    assert outputs[0] == outputs[1]


def test_fully_encrypted_site_fails_and_empties_cache(mkdocs: Project, tmp_path: Path) -> None:
    sources = {"index.md": "# Vault\n\n" + SECRET, "lamps.md": f"# Lamps\n\n{LONG}\n"}
    mkdocs.write(sources, plugins=plugins())
    mkdocs.build_in_subprocess()
    mkdocs.write(sources, plugins=plugins({"global_password": "pw"}))
    with pytest.raises(AssertionError, match="no page to publish"):
        mkdocs.build_in_subprocess()
    assert files_with_secret(tmp_path) == []
    assert list((tmp_path / ".cache/roaming").iterdir()) == []
