"""Expansion of sections: limit, parts, listed subsections."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from manifests import build
from msgspec.structs import replace

from mkdocs_roaming.manifest.expand import MAX_EXPANSION_CHARS, expand_section, render_expansion
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef


def all_parts(index: SectionIndex, ref: SectionRef, read: Callable[[SectionRef], str], cap: int):
    first = expand_section(index, ref, read, cap=cap)
    return [first, *(expand_section(index, ref, read, cap=cap, part=part) for part in range(2, first.parts + 1))]


@pytest.mark.parametrize("cap", [2000, 3000, MAX_EXPANSION_CHARS])
def test_parts_contain_or_list_each_section_once(shape, cap: int) -> None:
    library = shape.library()
    index = library.sections
    for ref in list(index)[:: max(1, len(index) // 25)]:
        parts = all_parts(index, ref, library.text, cap)
        assert all(len(render_expansion(part)) <= cap for part in parts)
        assert [part.part for part in parts] == list(range(1, len(parts) + 1))
        assert {part.parts for part in parts} == {len(parts)}
        shown: dict[str, str] = {}
        for part in parts:
            for piece in part.shown:
                shown[piece.id] = shown.get(piece.id, "") + piece.text
        below = [ref, *index.descendants(ref)]
        assert list(shown) == [other.id for other in below if other.id in shown]
        assert all(text == library.text(other) for id_, text in shown.items() if (other := index.get(id_)))
        listed = [entry.id for part in parts for entry in part.listed]
        assert len(listed) == len(set(listed))
        hidden = {other.id for id_ in listed if (top := index.get(id_)) for other in (top, *index.descendants(top))}
        assert hidden.isdisjoint(shown)
        assert hidden | set(shown) == {other.id for other in below}


def test_expansion_in_conversation_reads_each_text_once(make_site: Callable) -> None:
    text = "# Pumps\n\nAll of them.\n\n## Bilge\n\nBelow.\n\n### Valve\n\nTurn it.\n\n## Deck\n\nAbove.\n"
    library = make_site([("b/", text)]).library()
    titles: list[str] = []

    def read(ref: SectionRef) -> str:
        titles.append(ref.section.title)
        return library.text(ref)

    opened = expand_section(library.sections, library.sections.resolve("b/"), read, opened=())
    assert opened.text == text
    assert sorted(titles) == ["Bilge", "Deck", "Pumps", "Valve"]


def test_expansion_names_cited_sections(make_site: Callable) -> None:
    text = "# Rules\n\n## Rule 1\n\nMoor as in rule 3.\n\n## Rule 2\n\nPay.\n\n## Rule 3\n\nAsk first.\n"
    library = make_site([("b/", text)]).library()
    moor, _, ask = library.sections.children(SectionRef(library.manifest.pages[0], 0))
    assert f"\nCites: [{ask.id}] Rule 3\n" in render_expansion(expand_section(library.sections, moor, library.text))


def test_small_page_is_shown_with_all_subsections(make_site: Callable) -> None:
    text = "# Pumps\n\nAll of them.\n\n## Bilge\n\nBelow.\n\n### Valve\n\nTurn it.\n\n## Deck\n\nAbove.\n"
    library = make_site([("a/", "# Anchors\n\nTwo.\n"), ("b/", text), ("c/", "# Chains\n\nLong.\n")]).library()
    opened = expand_section(library.sections, library.sections.resolve("b/"), library.text)
    assert opened.text == text
    assert (opened.part, opened.parts, opened.listed) == (1, 1, ())
    assert opened.breadcrumb == ("Pumps",)
    assert opened.url == "https://docs.example/p/b/"
    assert (opened.before.title, opened.after.title) == ("Anchors", "Chains")
    assert [piece.id for piece in opened.shown] == [ref.id for ref in library.sections if ref.page.path == "b/"]
    shown = render_expansion(opened)
    assert text in shown
    assert "Before: [" in shown


def test_subsections_that_do_not_fit_are_listed(make_site: Callable) -> None:
    long = "word " * 2000
    text = f"# Top\n\nShort.\n\n## Small\n\nFits.\n\n## Large\n\n{long}\n\n### Inner\n\n{long}\n"
    library = make_site([("a/", text)]).library()
    opened = expand_section(library.sections, library.sections.resolve("a/"), library.text, cap=4000)
    assert opened.text == "# Top\n\nShort.\n\n## Small\n\nFits.\n\n"
    assert [(entry.title, entry.inside) for entry in opened.listed] == [("Large", 1)]
    assert f"] Large (~{opened.listed[0].tokens} tokens, +1 inside)" in render_expansion(opened)
    assert opened.parts == 1


def test_long_text_is_split_between_blocks(make_site: Callable) -> None:
    text = "# Log\n\n" + "".join(f"Entry {at}: the valve was turned.\n\n" for at in range(400))
    library = make_site([("a/", text)]).library()
    ref = library.sections.resolve("a/")
    parts = all_parts(library.sections, ref, library.text, 3000)
    assert "".join(part.text for part in parts) == text
    assert all(part.text.startswith(("# Log", "Entry ")) for part in parts)
    assert expand_section(library.sections, ref, library.text, cap=3000, part=99) == parts[-1]
    assert expand_section(library.sections, ref, library.text, cap=3000, part=-1) == parts[0]


@given(title=st.text(min_size=1, max_size=3000), text=st.text(max_size=9000), cap=st.integers(1800, 5000))
@settings(max_examples=60)
def test_long_titles_and_texts_stay_within_the_limit(title: str, text: str, cap: int) -> None:
    texts = dict.fromkeys(("a/", "b/"), f"# T\n\n{text}\n\n## U\n\n{text}\n")
    manifest = build(texts)
    pages = tuple(
        replace(page, title=title, sections=tuple(replace(section, title=title) for section in page.sections))
        for page in manifest.pages
    )
    site = replace(manifest.site, url=f"https://docs.example/{'x' * 400}/")
    index = SectionIndex(replace(manifest, site=site, pages=pages))

    def read(ref: SectionRef) -> str:
        data = texts[ref.page.path].encode("utf-8", "surrogatepass")
        return data[ref.section.start : ref.section.end].decode("utf-8", "replace")

    for ref in index:
        for part in all_parts(index, ref, read, cap):
            assert len(render_expansion(part)) <= cap
