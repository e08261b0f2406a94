"""What the model gets before its first reply: the outline or the text of a small site, and the first open sections."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import accumulate

from mkdocs_roaming.answer import prompts
from mkdocs_roaming.answer.budget import (
    CHARS_PER_TOKEN,
)
from mkdocs_roaming.answer.conversation import describe_call, find_citations
from mkdocs_roaming.answer.events import Event, OutlineRead, SiteRead
from mkdocs_roaming.answer.models.base import (
    AssistantTurn,
    ModelRequest,
    OpenSection,
    ToolCall,
    ToolResult,
    UserTurn,
    find_context,
)
from mkdocs_roaming.answer.models.context import USED_SHARE
from mkdocs_roaming.answer.run import Run
from mkdocs_roaming.errors import LibraryError
from mkdocs_roaming.library.navigator import PREFETCH_CALL_ID, PROMPT_OUTLINE_BUDGET, Navigator
from mkdocs_roaming.library.rules import RULES_CALL_ID, apply_rules, rules_share
from mkdocs_roaming.library.tools import ToolOutput
from mkdocs_roaming.settings import MAX_NUMBER
from mkdocs_roaming.text.markdown import truncate_at_word
from mkdocs_roaming.text.tokenizer import estimate_tokens

REOPEN_CALL_ID = "kept"
"""Id of the call that opens the sections of earlier answers again."""

_USUAL_CONTEXT = 4_096  # of small models, if the server that refuses a request does not say it
_RULES_TOKENS = 600
_CALLING_TOKENS = 1_400  # rules and tools
_LEAST_OUTLINE = 700
_OUTPUT_SHARE = 0.25  # of a context, at most
_OUTLINE_SHARE = 0.25  # of the room that the output leaves, at most
_OPENED_SHARE = 0.75  # of the rest
_HISTORY_SHARE = 0.25  # of the rest
_MAX_REOPENED = 8  # the maximum of one call
_SEARCH_TOKENS = 900  # of the texts that a search opens; titles and snippets alone would cost another round
_PREFETCH_CHARS_PER_TOKEN = 8  # at most half of the room for open sections
_MAX_SHOWN_QUERY = 200


async def write_first_turns(run: Run) -> list[Event]:
    """Write the rules and the first turns of an answer.

    Returns:
        What was read and opened.

    Raises:
        StopAnswer: The site cannot be read, or no time is left.
    """
    navigator = run.navigator
    conversation = run.conversation
    navigator.texts.link_ids = True
    navigator.search_tokens = _SEARCH_TOKENS
    manifest = navigator.library.manifest
    outline_tokens, history_tokens = await _fit_context(run)
    conversation.start(run.history, history_tokens)
    site = await run.read(lambda: read_small_site(navigator, run.budget.whole_site_tokens))
    run.has_tools = site is None and outline_tokens > 0
    run.max_rounds = run.round + (run.budget.rounds if run.has_tools else 1)
    outline = ""
    sections: tuple[OpenSection, ...] = ()
    reading = prompts.READING_PASSAGES
    events = list[Event]()
    if site is not None:
        reading = prompts.READING_SITE
        outline = site.text
        sections = site.sections
        conversation.tokens_read += site.tokens
        navigator.mark_opened(section.id for section in site.sections)
        events.append(SiteRead(manifest.digest, len(site.sections), site.tokens))
    elif run.has_tools:
        reading = prompts.READING_OUTLINE.format(rounds=run.budget.rounds)
        lines = await run.read(lambda: navigator.outline(outline_tokens))
        outline = prompts.introduce("The outline", manifest.site, lines)
        events.append(OutlineRead(manifest.digest, len(navigator.sections), estimate_tokens(outline)))
    run.prompt = ModelRequest(prompts.build_rules(navigator.name, reading), outline, (), site=sections)
    context = ""
    if run.page and (page := navigator.sections.find_page(run.page)):
        lines = navigator.page_outline(run.page) if run.has_tools else ""
        context = prompts.format_context(lines, navigator.sections.breadcrumb(page))
    conversation.turns.append(UserTurn(run.question, context))
    if site is None:
        first = len(conversation.turns) - 1
        events += await _reopen_sections(run)
        events += await _open_pinned_sections(run)
        events += await _prefetch_sections(run)
        if not run.has_tools:
            conversation.quote_results(first)
    return events


async def _fit_context(run: Run) -> tuple[int, int]:
    """Lower the budget to the room beside rules, tools and reply in the model's context, if that is known.

    Returns:
        Maximum size in tokens of the outline, 0 if there are no tools; and of earlier questions and answers.
    """
    can_call: bool = getattr(run.model, "has_tools", True)  # by setting, or what its server has refused
    context = await run.deadline.run(lambda: find_context(run.model), run.model.name)
    if "size" in run.reductions:  # the estimate was too low, or nothing was known
        context = run.context // 2 if run.context else context or _USUAL_CONTEXT
    run.context = context
    if context is None:
        return PROMPT_OUTLINE_BUDGET * can_call, MAX_NUMBER
    budget = run.budget
    output_tokens = min(budget.output_tokens, int(context * _OUTPUT_SHARE))
    output = output_tokens + getattr(run.model, "extra_output_tokens", 0)
    room = round(context * USED_SHARE) - min(output, context // 2)
    outline = min(int((room - _CALLING_TOKENS) * _OUTLINE_SHARE), PROMPT_OUTLINE_BUDGET)
    rules = _CALLING_TOKENS
    if not can_call or outline < _LEAST_OUTLINE:
        outline = 0
        rules = _RULES_TOKENS
    rest = max(room - rules - outline, 0)
    run.budget = replace(
        budget,
        output_tokens=output_tokens,
        open_chars=min(budget.open_chars, int(rest * _OPENED_SHARE) * CHARS_PER_TOKEN),
        whole_site_tokens=min(budget.whole_site_tokens, room - 2 * _RULES_TOKENS),
    )
    return outline, int(rest * _HISTORY_SHARE)


@dataclass(frozen=True, slots=True)
class SmallSite:
    """All sections of a small site in page order, their text for the model, and its estimated size."""

    sections: tuple[OpenSection, ...]
    text: str
    tokens: int


def read_small_site(navigator: Navigator, max_tokens: int) -> SmallSite | None:
    """Return the whole site if it has fewer estimated tokens than the maximum and can be read."""
    sizes = (section.section.tokens for section in navigator.sections)
    if any(total >= max_tokens for total in accumulate(sizes, initial=0)):  # stops early on a large site
        return None

    def read() -> SmallSite:
        index = navigator.sections
        library = navigator.library
        library.prefetch(index.manifest.pages)
        texts = ((section, library.text(section)) for section in index)
        sections = tuple(OpenSection(section.id, index.breadcrumb(section), text) for section, text in texts if text)
        text = "\n".join(map(prompts.format_section, sections))
        whole = prompts.introduce("All sections", library.manifest.site, text)
        return SmallSite(sections, whole, estimate_tokens(whole))

    try:
        site = navigator.library.memoize("small site", read)
    except LibraryError:
        return None  # reported when the section is opened
    return site if site.tokens < max_tokens else None


async def _reopen_sections(run: Run) -> list[Event]:
    """Open the sections that earlier answers cited, or else opened, the latest ones; cited ones count as used."""
    history = run.conversation.history
    cited: list[str] = []
    for exchange in reversed(history):
        cited += find_citations(exchange.answer)
    find_section = run.navigator.sections.get
    sections = [*filter(None, map(find_section, cited))] or filter(None, map(find_section, reversed(run.opened)))
    ids = list(dict.fromkeys(section.id for section in sections))[:_MAX_REOPENED]
    if not ids:
        return []
    run.navigator.drop(run.navigator.opened)
    call = ToolCall(REOPEN_CALL_ID, "expand_sections", {"ids": ids})
    query = run.question
    if history:
        query = f"{query}\n{history[-1].question}\n{history[-1].answer}"
    events = await _record_call(run, call, lambda: run.navigator.reopen(ids, query))
    for exchange in history:
        run.conversation.mark_cited(find_citations(exchange.answer))
    return [*events, *run.conversation.make_room(run.budget.open_chars)]


async def _open_pinned_sections(run: Run) -> list[Event]:
    """Open the sections that the site's rules choose for the question."""
    chars = rules_share(run.budget.open_chars, run.navigator.open_chars())
    rules = await run.read(lambda: apply_rules(run.navigator, run.question, run.page, chars))
    if not rules.opens:
        return []
    arguments: dict[str, object] = {"ids": list(rules.opens)}
    if rules.words:
        arguments["query"] = rules.words
    call = ToolCall(RULES_CALL_ID, "expand_sections", arguments)
    return await _record_call(run, call, lambda: run.navigator.call(call.name, arguments))


async def _prefetch_sections(run: Run) -> list[Event]:
    """Open the sections that search ranks first; a follow-up is searched with the question before it."""
    share = _PREFETCH_CHARS_PER_TOKEN if run.has_tools else CHARS_PER_TOKEN
    room = (run.budget.open_chars - run.navigator.open_chars()) // share
    max_tokens = min(run.prefetch_tokens, room)
    if max_tokens <= 0:
        return []
    history = run.conversation.history
    earlier = history[-1].question if history else ""
    shown = truncate_at_word(run.question, _MAX_SHOWN_QUERY)
    call = ToolCall(PREFETCH_CALL_ID, "search_sections", {"query": shown})
    return await _record_call(run, call, lambda: run.navigator.prefetch(run.question, earlier, max_tokens=max_tokens))


async def _record_call(run: Run, call: ToolCall, work: Callable[[], ToolOutput]) -> list[Event]:
    """Do the work before the first round, and record it as a call of the model."""
    run.call_ids.add(call.id)
    run.conversation.turns.append(AssistantTurn("", (call,)))
    result = await run.read(work)
    run.conversation.add_results([ToolResult(call, result)])
    return [describe_call(call), *run.conversation.describe_result(call.id, result)]
