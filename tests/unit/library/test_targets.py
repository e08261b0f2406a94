"""Targets: what the LIB argument of a command names, for one site."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.library.targets import SiteTarget, branch_id, open_target

PAGES = [("pumps/", "# Pumps\n\nAll.\n\n## Oil\n\nChange the oil.\n")]


@pytest.fixture
def folder(make_site: Callable, tmp_path: Path) -> Path:
    return make_site(PAGES).publish(tmp_path / "site")


def test_open_target_opens_site_on_first_use() -> None:
    target = open_target("https://127.0.0.1:9/")
    assert isinstance(target, SiteTarget)
    assert (target.where, target.store) == ("https://127.0.0.1:9/", None)
    with pytest.raises(LibraryError, match="cannot be fetched"):
        target.open_site()


def test_site_target_trusts_rules_on_request(folder: Path) -> None:
    opened: list[Library] = []

    def open_untrusted(where: str) -> Library:
        opened.append(open_target(where).open_site())
        opened[-1].trusted = False
        return opened[-1]

    assert SiteTarget(str(folder), opener=open_untrusted, trust_rules=True).open_site().trusted
    target = SiteTarget(str(folder), opener=open_untrusted)
    assert not target.open_site().trusted
    assert target.open_site() is opened[-1]
    assert len(opened) == 2


def test_site_target_resolves_searches_and_is_its_only_candidate(folder: Path) -> None:
    target = open_target(str(folder))
    library = target.open_site()
    oil = next(section.id for section in library.sections if section.section.title == "Oil")
    assert [(one.library, one.address, one.site) for one in target.resolve(["a", "b"])] == [
        (library, "a", None),
        (library, "b", None),
    ]
    assert target.resolve_branch(None).address == ""
    assert target.resolve_branch("pumps/#oil").address == oil
    (hit, *_) = target.search("change the oil", 1)
    assert (hit.hit.section.id, hit.library, hit.site) == (oil, library, None)
    (candidate,) = target.candidates("what?", "pumps/", warn=pytest.fail)
    assert (candidate.library, candidate.question, candidate.page, candidate.site) == (library, "what?", "pumps/", None)


def test_branch_id_keeps_plus_sign_and_unknown_ids(folder: Path) -> None:
    library = open_target(str(folder)).open_site()
    page = library.manifest.pages[0].id
    assert branch_id(library, "pumps/+") == f"{page}+"
    assert branch_id(library, "nowhere+") == "nowhere+"
