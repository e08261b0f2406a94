"""What `roaming describe` asks a model for, what it accepts, and what it costs."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise, product
from pathlib import Path
from typing import Any

import anyio
import msgspec
import pytest
from tables import read_tables

from mkdocs_roaming.answer.budget import Prices
from mkdocs_roaming.answer.models.base import ModelRequest, Part, Stop, Text, ToolCall, Usage
from mkdocs_roaming.describe.checks import Checker
from mkdocs_roaming.describe.requests import (
    MAX_SECTION_TOKENS,
    DescriptionRequest,
    find_missing,
    make_requests,
    parse_reply,
    shorten_text,
)
from mkdocs_roaming.describe.run import ModelRunner, ReplyFolder, apply_replies
from mkdocs_roaming.errors import ModelError
from mkdocs_roaming.library.library import Library
from mkdocs_roaming.manifest.descriptions import (
    Descriptions,
    SectionTexts,
    describe_manifest,
    merge_texts,
    text_digest,
)
from mkdocs_roaming.manifest.models import Site
from mkdocs_roaming.text.tokenizer import estimate_tokens

TABLES = read_tables(__file__)

MakeSite = Callable[..., Any]
INSTALL = "Run `setup --quiet` with administrator rights. It takes 4 minutes and listens on port 8124 afterwards."
REMOVE = "Delete the folder of the program. The readings stay in the archive for 30 days."
GUIDE = f"# Guide\n\nHow to begin with the program.\n\n## Install\n\n{INSTALL}\n\n## Remove\n\n{REMOVE}\n"
TEXTS = Path(__file__).parents[2] / "golden" / "descriptions"
SITE_URL = "https://docs.example/p/"
LINKS = "# More\n\n## Next\n\nText about the next steps.\n"
PRICES = Prices(input=1.0, output=5.0)


@pytest.fixture
def library(make_site: MakeSite) -> Library:
    made: Library = make_site([("guide/", GUIDE), ("more/", LINKS)]).library()
    return made


def requests_of(library: Library, descriptions: Descriptions | None = None) -> list[DescriptionRequest]:
    missing = find_missing(library, descriptions or Descriptions())
    return list(make_requests(library, missing))


def answer(request: DescriptionRequest, about: str = "", *asks: str, description: str = "") -> dict[str, Any]:
    """Return the same texts for each section of a request."""
    sections = [{"id": section.id, "about": about, "asks": list(asks)} for section in request.sections]
    return {"sections": sections, "description": description}


def check(library: Library, title: str, about: str = "", *asks: str) -> Checker:
    """Return what passes of texts about one section."""
    request = next(
        one for one in requests_of(library) if any(section.section.title == title for section in one.sections)
    )
    id_ = next(section.id for section in request.sections if section.section.title == title)
    checker = Checker(library)
    checker.check_reply(request, parse_reply({"sections": [{"id": id_, "about": about, "asks": list(asks)}]}))
    return checker


@dataclass
class WritingModel:
    """A model whose replies a function writes; it counts 1,000 input tokens and 200 output tokens for each."""

    write: Callable[[dict[str, Any]], object]
    name: str = "writing"
    seen: list[dict[str, Any]] = field(default_factory=list)
    tools: list[tuple[str, ...]] = field(default_factory=list)

    async def reply(self, request: ModelRequest) -> AsyncIterator[Part]:
        data = json.loads(request.turns[-1].context)  # type: ignore[union-attr]
        self.seen.append(data)
        self.tools.append(tuple(tool.name for tool in request.tools))
        await anyio.lowlevel.checkpoint()
        written = self.write(data)
        if isinstance(written, Exception):
            raise written
        yield Usage(input=1_000, output=200)
        yield Text(written) if isinstance(written, str) else ToolCall("call-1", "describe_sections", written)
        yield Stop()


def write_about(data: dict[str, Any]) -> dict[str, Any]:
    sections = [
        {"id": one["id"], "about": f"The part {one['title']}", "asks": [f"How do I {one['title']} it?"]}
        for one in data["sections"]
    ]
    return {"sections": sections, "description": f"{data['page']}: how to begin"}


def run(model: WritingModel, library: Library, folder: Path, **options: Any) -> tuple[ModelRunner, Checker]:
    """Send all requests of a site, and check the replies."""
    runner = ModelRunner(lambda: model, ReplyFolder(folder), **options)
    anyio.run(runner.send, requests_of(library))
    checker = Checker(library)
    apply_replies(checker, requests_of(library), ReplyFolder(folder))
    return runner, checker


# What is asked for


def test_request_has_the_page_and_its_sections_as_data(library: Library) -> None:
    guide, more = requests_of(library)
    data = json.loads(guide.render())
    assert [section["title"] for section in data["sections"]] == ["Guide", "Install", "Remove"]
    assert data["sections"][1]["text"] == f"## Install\n\n{INSTALL}"
    assert data["outline"] == ["Guide", "  Install", "  Remove"]
    assert data["asked_for"] == "description"
    assert [section.section.title for section in more.sections] == ["Next"]


def test_long_page_is_split_into_parts(make_site: MakeSite) -> None:
    text = "# Long\n\n" + "".join(f"## Part {at}\n\n{'Some words about it. ' * 60}\n\n" for at in range(60))
    requests = requests_of(make_site([("long/", text)]).library())
    assert len(requests) > 2
    assert [one.wants_description for one in requests] == [True] + [False] * (len(requests) - 1)
    assert sum(len(one.sections) for one in requests) == 60
    assert len({one.name for one in requests}) == len(requests)


def test_page_of_many_short_sections_is_split_into_parts(make_site: MakeSite) -> None:
    """A reply about all of them would exceed the maximum output of models."""
    text = "# Changes\n\n" + "".join(f"## 1.{at}\n\nFixed {at}.\n\n" for at in range(300))
    requests = requests_of(make_site([("changes/", text)]).library())
    assert sum(len(one.sections) for one in requests) == 300
    assert max(one.output_tokens for one in requests) < 10_000


def test_reply_may_be_longer_in_a_script_without_spaces(make_site: MakeSite) -> None:
    lengths = {
        language: sum(one.output_tokens for one in requests_of(make_pump(make_site, language)))
        for language in ("de", "ja")
    }
    assert lengths["ja"] > 1.5 * lengths["de"]


@pytest.mark.parametrize("line", ["Row {0} has its own value.", "{0}行目の値です。"], ids=["English", "Japanese"])
def test_section_too_long_for_a_request_is_shown_in_excerpts_of_all_its_parts(line: str) -> None:
    rows = [line.format(at) for at in range(5_000)]
    short, long = "\n".join(rows[:200]), "\n".join(rows)
    assert shorten_text(short) == short
    shown = shorten_text(long)
    assert estimate_tokens(shown) <= 1.05 * MAX_SECTION_TOKENS
    numbers = [at for at, row in enumerate(rows) if row in shown]
    assert max(after - before for before, after in pairwise([0, *numbers, 5_000])) < 500
    assert shown.count("\n…\n") == 11


def test_request_for_a_page_alone_has_its_beginning(library: Library) -> None:
    missing = find_missing(library, Descriptions())
    missing.sections.clear()
    requests = list(make_requests(library, missing))
    # The other page has a description already: the opening of its only section.
    assert [(len(request.sections), request.wants_description) for request in requests] == [(0, True)]
    assert INSTALL in json.loads(requests[0].render())["beginning"]


def test_described_sections_and_texts_of_a_person_are_not_asked_for(
    library: Library, tmp_path: Path, make_site: MakeSite
) -> None:
    _, checked = run(WritingModel(write_about), library, tmp_path)
    descriptions = merge_texts(Descriptions(), library.manifest, checked.sections, checked.pages)
    assert requests_of(library, descriptions) == []
    id_ = next(section.id for section in library.sections if section.section.title == "Install")
    sections = checked.sections | {id_: msgspec.structs.replace(checked.sections[id_], about="By hand", asks=())}
    descriptions = merge_texts(Descriptions(), library.manifest, sections, checked.pages)
    changed = make_site([("guide/", GUIDE.replace("8124", "9000")), ("more/", LINKS)]).library()
    missing = find_missing(changed, descriptions)
    assert not missing.sections
    assert missing.edited == missing.stale == {id_}


# What is accepted


def test_texts_that_the_section_supports_pass(library: Library) -> None:
    checked = check(
        library, "Install", "Install with setup --quiet, port 8124", "How do I get the setup onto my computer?"
    )
    (texts,) = checked.sections.values()
    assert texts.about == "Install with setup --quiet, port 8124"
    assert texts.asks == ("How do I get the setup onto my computer?",)
    assert not texts.is_edited
    assert checked.refused == []


def test_question_that_shares_a_word_with_its_section_and_most_with_another_is_refused(make_site: MakeSite) -> None:
    fog = "# Fog\n\nFog is a cloud near the water. It lifts when wind comes up, after two hours or more.\n"
    fuel = (
        "# Fuel\n\nThe dock sells diesel. Pay by card at the pump. Fill a canister with diesel only on the pontoon.\n"
    )
    library = make_site([("fog/", fog), ("fuel/", fuel)]).library()
    ask = "May I fill a canister with diesel at the pump and pay by card in the wind?"
    assert library.search(ask)[-1].title == "Fog"
    assert check(library, "Fog", "", ask).sections == {}
    assert [texts.asks for texts in check(library, "Fuel", "", ask).sections.values()] == [(ask,)]


def test_text_of_an_earlier_run_does_not_let_a_foreign_question_pass(library: Library) -> None:
    ask = "Where is petrol sold at night?"
    section = next(section for section in library.sections if section.section.title == "Install")
    texts = {section.id: SectionTexts("Install", text_digest(library.text(section)), asks=(ask,))}
    descriptions = merge_texts(Descriptions(), library.manifest, texts, {})
    described = library.rename_ids(lambda manifest: describe_manifest(manifest, descriptions)[0])
    assert described.search("petrol")[0].id == section.id
    assert check(described, "Install", "", ask).sections == {}


def test_refused_question_is_reported_and_leaves_the_description(library: Library) -> None:
    ask = "Why does it take 90 minutes?"
    checked = check(library, "Install", "Install with administrator rights", ask)
    (texts,) = checked.sections.values()
    assert (texts.about, texts.asks) == ("Install with administrator rights", ())
    (refused,) = checked.refused
    assert repr(ask) in refused


def make_pump(make_site: MakeSite, language: str) -> Library:
    pages, site = (
        {"en": [("guide/", GUIDE)], "de": [("p/", TABLES["Pumpe"])], "ja": [("p/", TABLES["ポンプ"])]},
        Site("Docs", SITE_URL),
    )
    made: Library = make_site(pages[language], site=replace(site, language=language)).library()
    return made


@pytest.mark.parametrize(
    ("file", "number", "text"),
    [
        (file.stem, number, text)
        for file in sorted(TEXTS.glob("*.txt"))
        for number, text in enumerate(file.read_text("utf-8").split("\n"), 1)
        if text
    ],
)
def test_texts_with_foreign_content_are_refused_in_every_language(
    make_site: MakeSite, file: str, number: int, text: str
) -> None:
    outcome, language = file.split("-")
    title = {"en": "Install", "de": "Anhalten", "ja": "止め方"}[language]
    texts = check(make_pump(make_site, language), title, text, text).sections.values()
    assert [one.asks for one in texts] == ([(text,)] if outcome == "accepted" else [])


HOSTILE_SECTIONS = TABLES["hostile sections"]


@pytest.mark.parametrize("text", HOSTILE_SECTIONS)
def test_hostile_section_is_only_data_of_its_own_section(make_site: MakeSite, text: str) -> None:
    plain = make_site([("guide/", "# Guide\n\n## Install\n\nText.\n\n## Other\n\nMore.\n")]).library()
    library = make_site([("guide/", f"# Guide\n\n## Install\n\n{text}\n\n## Other\n\nMore.\n")]).library()
    (expected,), (request,) = requests_of(plain), requests_of(library)
    before, after = json.loads(expected.render()), json.loads(request.render())
    assert request.rules == expected.rules
    assert [one["id"] for one in after["sections"]] == [one["id"] for one in before["sections"]]
    assert after["sections"].pop(0)["text"] == f"## Install\n\n{text}"
    before["sections"].pop(0)
    assert after == before


def test_reply_about_other_sections_changes_nothing(library: Library) -> None:
    request = next(one for one in requests_of(library) if one.page.title == "More")
    others = [{"id": section.id, "about": "The docs moved", "asks": ["Why?"]} for section in library.sections]
    own = [{"id": request.sections[0].id, "about": "Text about the next steps", "asks": []}]
    checker = Checker(library)
    checker.check_reply(request, parse_reply({"sections": others + own}))
    assert {texts.about for texts in checker.sections.values()} == {"Text about the next steps"}


def test_flood_of_questions_is_not_read_to_its_end(library: Library) -> None:
    asks = [f"What does --option-{at} do?" for at in range(10_000)]
    checked = check(library, "Install", "", *asks, "How do I get it?")
    assert len(checked.refused) <= 12


def test_too_long_description_is_cut_at_a_word(library: Library) -> None:
    about = "Install with administrator rights " * 6
    texts = next(iter(check(library, "Install", about).sections.values()))
    assert len(texts.about) <= 110
    assert texts.about.startswith("Install with administrator rights")


@pytest.mark.parametrize(
    "data",
    ["", "no JSON", "{", '{"sections": 3}', '{"sections": [{"about": "x"}]}', "[" * 100_000, {"sections": [1]}, None],
)
def test_nonsense_is_no_reply(data: object) -> None:
    with pytest.raises(ValueError, match=r"."):
        parse_reply(data)


def test_json_within_text_is_a_reply() -> None:
    text = 'Here it is:\n```json\n{"sections": [{"id": "0a1b2c3d", "about": "x", "asks": []}]}\n```'
    assert parse_reply(text).sections[0].about == "x"


def test_search_of_a_large_site_leaves_out_frequent_words(make_site: MakeSite) -> None:
    names = ["".join(pair) + "ket" for pair in product(("ba", "du", "fo", "gi", "lo", "mu", "pa", "ri"), repeat=3)]
    library = make_site([(f"{name}/", f"# Part {name}\n\nThe motor has a {name}.\n") for name in names]).library()
    title = f"Part {names[7]}"
    assert check(library, title, "", f"Which motor has the {names[7]}?").sections
    assert not check(library, title, "", f"Which motor has the {names[9]}?").sections


# Runs


def test_model_describes_every_section_and_no_reply_is_paid_for_twice(library: Library, tmp_path: Path) -> None:
    model = WritingModel(write_about)
    runner, checked = run(model, library, tmp_path)
    assert {texts.about for texts in checked.sections.values()} == {
        "The part Guide",
        "The part Install",
        "The part Remove",
        "The part Next",
    }
    assert {page.description for page in checked.pages.values()} == {"Guide: how to begin"}
    assert set(model.tools) == {("describe_sections",)}
    assert runner.usage == Usage(input=2_000, output=400)
    again, checked = run(model, library, tmp_path)
    assert (len(model.seen), again.sent, len(checked.sections)) == (2, 0, 4)


@pytest.mark.parametrize("about", ["Costs 99 dollars", "", "-", None], ids=["refused", "empty", "dash", "null"])
def test_sections_without_usable_texts_stay_without_description(
    library: Library, tmp_path: Path, about: str | None
) -> None:
    asks = None if about is None else []
    model = WritingModel(
        lambda data: {"sections": [{"id": one["id"], "about": about, "asks": asks} for one in data["sections"]]}
    )
    runner, checked = run(model, library, tmp_path)
    assert (checked.sections, runner.problems, len(model.seen)) == ({}, [], 2)


def test_model_that_answers_nonsense_is_not_asked_for_ever(make_site: MakeSite, tmp_path: Path) -> None:
    library = make_site([(f"p{at}/", f"# P{at}\n\nText of page {at}.\n") for at in range(20)]).library()
    model = WritingModel(lambda data: "I cannot do that.")
    runner, checked = run(model, library, tmp_path)
    assert 3 <= len(model.seen) <= 6
    assert runner.stop_reason == "writing failed 3 times"
    assert checked.sections == {}


def test_failed_requests_do_not_stop_others(library: Library, tmp_path: Path) -> None:
    def write(data: dict[str, Any]) -> object:
        return (
            ModelError("writing: too many requests; try again later") if data["page"] == "Guide" else write_about(data)
        )

    runner, checked = run(WritingModel(write), library, tmp_path)
    assert {texts.title for texts in checked.sections.values()} == {"Next"}
    assert runner.problems == ["/guide/: writing: writing: too many requests; try again later"]


def test_run_stops_before_the_cost_is_passed(make_site: MakeSite, tmp_path: Path) -> None:
    library = make_site([(f"p{at}/", f"# P{at}\n\nText of page {at}.\n") for at in range(20)]).library()
    model = WritingModel(write_about)
    runner, checked = run(model, library, tmp_path, prices=PRICES, max_cost=0.01)
    assert 0.004 < runner.cost <= 0.01
    assert runner.stop_reason == "the next request would pass --max-cost 0.01"
    assert len(checked.sections) == len(model.seen) < 20


def test_files_are_answered_instead_of_a_model(library: Library, tmp_path: Path) -> None:
    folder, requests = ReplyFolder(tmp_path), requests_of(library)
    folder.write_requests(requests, "roaming describe site --apply plan")
    assert "roaming describe site --apply plan" in (tmp_path / "README.md").read_text("utf-8")
    asked = json.loads((tmp_path / f"{requests[0].name}.request.json").read_text("utf-8"))
    assert asked["reply_file"] == f"{requests[0].name}.reply.json"
    folder.write_reply(requests[0], write_about(asked))
    (tmp_path / f"{requests[1].name}.reply.json").write_text("not yet", "utf-8")
    checker, before = Checker(library), sorted(tmp_path.iterdir())
    problems = apply_replies(checker, requests, folder)
    abouts = {texts.about for texts in checker.sections.values()}
    assert abouts == {"The part Guide", "The part Install", "The part Remove"}
    assert "write it again" in problems[0]
    assert sorted(tmp_path.iterdir()) == before
    folder.write_requests(requests[1:], "roaming describe site --apply plan")
    assert [file.name for file in tmp_path.glob("*.request.json")] == [f"{requests[1].name}.request.json"]


def test_reply_to_an_earlier_text_is_not_used(library: Library, tmp_path: Path, make_site: MakeSite) -> None:
    folder, requests = ReplyFolder(tmp_path), requests_of(library)
    folder.write_reply(requests[0], answer(requests[0], "Install"))
    changed = make_site([("guide/", GUIDE.replace("8124", "9000")), ("more/", LINKS)]).library()
    checker = Checker(changed)
    assert apply_replies(checker, requests_of(changed), folder) == []
    assert checker.sections == {}
