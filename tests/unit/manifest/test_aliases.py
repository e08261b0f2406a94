"""Ids of a previous build and what they open."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise

from hypothesis import example, given
from hypothesis import strategies as st
from manifests import GUIDE, build, ids_by_title

from mkdocs_roaming.manifest.aliases import MAX_ALIASES, PreviousSite
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import Manifest
from mkdocs_roaming.manifest.sections import hash_id

Texts = dict[str, str]
SECTIONS = st.lists(
    st.tuples(st.integers(2, 3), st.sampled_from(["Pumps", "Options", "Example"]), st.integers(0, 9)), max_size=6
)
"""Sections of a page: level, title, number of the text below the heading; the text 0 is empty."""
SITES = st.dictionaries(st.sampled_from(["", "guide/", "api/"]), SECTIONS, min_size=1)


def make_previous(manifest: Manifest, pages: Texts) -> PreviousSite:
    return PreviousSite(
        manifest, lambda page, section: pages[page.path].encode()[section.start : section.end].decode("utf-8")
    )


def make_pages(site: dict[str, list[tuple[int, str, int]]]) -> Texts:
    def write(level: int, title: str, text: int) -> str:
        return f"{'#' * level} {title}\n\n" + (f"Text {'abcdefghij'[text] * 4}.\n\n" if text else "")

    return {path: f"# Page {path}\n\n" + "".join(write(*section) for section in own) for path, own in site.items()}


def build_all(*builds: Texts) -> list[Manifest]:
    """Return the manifests of builds that follow each other."""
    manifests = [build(builds[0])]
    for before, pages in pairwise(builds):
        manifests.append(build(pages, previous=make_previous(manifests[-1], before)))
    return manifests


def open_id(manifest: Manifest, id_: str) -> SectionRef:
    found = SectionIndex(manifest).get(id_)
    assert found is not None
    return found


@given(SITES, SITES, SITES)
@example(
    {"": [(2, "Pumps", 1), (3, "Example", 2), (2, "Pumps", 3), (3, "Example", 4)]},
    {"": [(2, "Pumps", 3), (3, "Example", 4)]},
    {"": [(2, "Pumps", 3), (3, "Example", 4), (3, "Example", 2)]},
)
def test_former_id_opens_the_same_text_or_title_or_its_page(one: dict, two: dict, three: dict) -> None:
    pages = make_pages(one)
    before = build(pages)
    for site in (two, three):
        new_pages = make_pages(site)
        after = build(new_pages, previous=make_previous(before, pages))
        check_ids(before, after)
        check_uniqueness(after)
        before, pages = after, new_pages


def check_ids(before: Manifest, after: Manifest) -> None:
    old_texts = Counter(section.body for section in before.sections())
    texts = Counter(section.body for section in after.sections())
    index = SectionIndex(after)
    paths = {page.path for page in after.pages}
    ids = {section.id for section in after.sections()}
    for page in before.pages:
        for position, old in enumerate(page.sections):
            found = index.get(old.id)
            for alias in old.aliases:
                assert page.path not in paths or index.get(alias) == found or alias in ids
            if position == 0:
                new_page = index.get_page(page.path)
                assert new_page is None or found == SectionRef(new_page, 0)
                continue
            if old.body and old_texts[old.body] == texts[old.body] == 1:
                assert found is not None
                assert found.section.body == old.body
            elif page.path not in paths:
                continue  # the ids of a removed page are free
            else:
                assert found is not None
            if found is not None and found.position:
                assert found.section.body == old.body or (found.section.title == old.title)
                # It has not taken over the id of a section with another text.
                taken_over = old_texts[found.section.body] == texts[found.section.body] == 1
                assert found.section.body in ("", old.body) or not taken_over


def check_uniqueness(manifest: Manifest) -> None:
    ids = Counter(section.id for section in manifest.sections())
    ids.update(alias for section in manifest.sections() for alias in section.aliases)
    assert set(ids.values()) == {1}


def test_renamed_heading_keeps_its_id_as_alias() -> None:
    first, new = build_all({"guide/": GUIDE}, {"guide/": GUIDE.replace("## Install", "## Set up")})
    assert open_id(new, ids_by_title(first)["Install"]).section.title == "Set up"


def test_rewritten_section_is_matched_by_its_words() -> None:
    text = "The installer unpacks the archive, checks its signature, asks for a folder and writes a log of all that."
    old, pages = f"# Guide\n\n## Install\n\n{text}\n", f"# Guide\n\n## Set up\n\n{text} Done.\n"
    first, new = build_all({"guide/": old}, {"start/": pages})
    assert open_id(new, ids_by_title(first)["Install"]).section.title == "Set up"


def test_edited_section_of_a_renamed_parent_keeps_its_id_as_alias() -> None:
    old = "# CLI\n\n## start\n\nStarts.\n\n### Options\n\nOne.\n\n## stop\n\nStops.\n\n### Options\n\nTwo.\n"
    text = old.replace("## stop", "## halt").replace("Two", "Three, which is another text")
    first, new = build_all({"cli/": old}, {"cli/": text})
    assert open_id(new, first.pages[0].sections[4].id).position == 4


def test_moved_page_inherits_aliases() -> None:
    first, *moved = build_all({"guide/": GUIDE}, {"start/": GUIDE}, {"begin/": GUIDE})
    for manifest in moved:
        assert open_id(manifest, ids_by_title(first)["Remove"]).section.title == "Remove"
        assert open_id(manifest, ids_by_title(first)["Guide"]).position == 0


def test_page_at_the_path_of_a_moved_page_gets_another_id() -> None:
    first, new = build_all({"guide/": GUIDE}, {"guide/": "# News\n\n## Storms\n", "start/": GUIDE})
    assert open_id(new, first.pages[0].id).page.path == "start/"
    assert new.pages[0].id == hash_id("guide/#~1")


def test_removed_section_opens_its_page_until_it_returns() -> None:
    old = {"guide/": GUIDE}
    without = {"guide/": GUIDE.replace("## Install\n\nRun the installer with `--quiet`.\n\n", "")}
    first, second, third = build_all(old, without, old)
    install = ids_by_title(first)["Install"]
    assert open_id(second, install).position == 0
    assert open_id(third, install).section.title == "Install"
    assert ids_by_title(third)["Install"] == install


def test_new_section_does_not_take_over_the_id_of_a_removed_namesake() -> None:
    page = "# Pumps\n\n## Drain\n\n### Example\n\nOpen it.\n\n## Fill\n\n### Example\n\nClose it.\n"
    without = page.replace("## Drain\n\n### Example\n\nOpen it.\n\n", "")
    first, new = build_all({"pumps/": page}, {"pumps/": without})
    ids = [section.id for section in first.pages[0].sections]
    assert open_id(new, ids[2]).position == 0
    assert open_id(new, ids[4]).section.body == first.pages[0].sections[4].body


def test_new_section_does_not_get_the_former_id_of_a_renamed_one() -> None:
    renamed = GUIDE.replace("## Install", "## Set up")
    both = {"guide/": f"{renamed}\n## Install\n\nNew and different.\n"}
    first, _, *later = build_all({"guide/": GUIDE}, {"guide/": renamed}, both, both)
    for manifest in later:
        assert open_id(manifest, ids_by_title(first)["Install"]).section.title == "Set up"
        assert ids_by_title(manifest)["Install"] == hash_id("guide/#install~1")


def test_aliases_are_limited_to_the_newest() -> None:
    steps = "".join(f"## Step {at}\n\nText {at}.\n\n" for at in range(MAX_ALIASES + 5))
    _, new = build_all({"guide/": f"# Guide\n\n{steps}"}, {"guide/": "# Guide\n"})
    assert len(new.pages[0].sections[0].aliases) == MAX_ALIASES
