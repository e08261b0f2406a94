"""Markdown sources of pages: front matter, snippets, headings and fences."""

from __future__ import annotations

from pathlib import Path

from mkdocs_roaming.sources.project import find_heading, iter_fences, read_source

PAGE = """\
---
tags: [a]
---

# The *best* page {#best}

```py title="x"
one()
```

    ``` { .toml .annotate hl_lines="1" }
    [two]
    ```

```title="requirements.txt"
three
```

> ~~~~ yaml+jinja
> ```
> four: 4
> ~~~~

Inline ```` ``` ```` code.

```yaml
--8<-- "harbour.yaml"
```

--8<-- "missing.md"

--8<-- "../secret.txt"
"""


def test_source_has_front_matter_snippets_of_its_folders_and_languages_of_fences(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text(PAGE, "utf-8")
    (tmp_path / "parts").mkdir()
    (tmp_path / "parts/harbour.yaml").write_text("pumps: 3\n", "utf-8")
    (tmp_path / "harbour.yaml").write_text("outside: 1\n", "utf-8")
    (tmp_path / "secret.txt").write_text("secret", "utf-8")
    meta, text = read_source(tmp_path / "page.md", "page.md", (tmp_path / "parts",), print)
    assert (meta, find_heading(text)) == ({"tags": ["a"]}, "The best page")
    assert [(language, "".join(code.split())) for code, language in iter_fences(text)] == [
        ("py", "one()"),
        ("toml", "[two]"),
        ("", "three"),
        ("yaml+jinja", "```four:4"),
        ("yaml", "pumps:3"),
    ]
    assert "../secret.txt" in text


def test_invalid_front_matter_is_reported(tmp_path: Path) -> None:
    (tmp_path / "page.md").write_text("---\na: [\n---\nText\n", "utf-8")
    warnings: list[str] = []
    meta, _ = read_source(tmp_path / "page.md", "guide/page.md", (), warnings.append)
    assert (meta, warnings[0][:27]) == ({}, "guide/page.md: invalid YAML")
