"""The state of an answer, from its question to its end."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from mkdocs_roaming.answer.budget import SITE, Budget, Deadline, StopAnswer, compute_limiter, run_in_thread
from mkdocs_roaming.answer.citations import AnswerText
from mkdocs_roaming.answer.conversation import Conversation, Exchange
from mkdocs_roaming.answer.events import AnswerState
from mkdocs_roaming.answer.judge import Flaw
from mkdocs_roaming.answer.models.base import NO_USAGE, Model, ModelRequest, Usage
from mkdocs_roaming.library.navigator import Navigator

T = TypeVar("T")


@dataclass(slots=True)
class Run:
    """The state of one answer.

    Attributes:
        question: The question.
        navigator: Opens and searches the site.
        model: The model.
        budget: Limits of the answer.
        deadline: End of the time.
        page: The reader's page: an id, a path or a URL.
        opened: The ids of the sections that earlier answers opened.
        history: Earlier questions and answers.
        prefetch_tokens: Maximum size of the sections that search opens.
        conversation: The turns so far.
        text: The text that the reader has.
        prompt: What is the same in all requests: the rules, and the outline or the sections of a small site.
        max_rounds: Maximum number of requests.
        round: Number of the current request.
        call_ids: The ids of all tool calls so far.
        usage: All tokens so far.
        state: How the answer ended; None until then.
        stop: Why it ended early.
        flaw: Why the last reply could not be used, if the model was asked again.
        has_tools: Whether the model may call tools.
        context: The size of the model's context in tokens; None if it is not known.
        reductions: Why earlier requests were too much for the model: `size`, or `request` for its tools.
        foreign: The spans of what code in the text uses and neither the site, an opened section nor a question names.
        note: What to say to a reader whose question is in another language than the site.
    """

    question: str
    navigator: Navigator
    model: Model
    budget: Budget
    deadline: Deadline
    page: str | None
    opened: Sequence[str]
    history: Sequence[Exchange]
    prefetch_tokens: int
    conversation: Conversation = field(init=False)
    text: AnswerText = field(init=False)
    prompt: ModelRequest = field(init=False)
    max_rounds: int = 0
    round: int = 0
    call_ids: set[str] = field(default_factory=set)
    usage: Usage = NO_USAGE
    state: AnswerState | None = None
    stop: StopAnswer | None = None
    flaw: Flaw | None = None
    has_tools: bool = False
    context: int | None = None
    reductions: set[str] = field(default_factory=set)
    foreign: Sequence[tuple[int, int]] = ()
    note: str = ""

    def __post_init__(self) -> None:
        self.conversation = Conversation(self.navigator)
        self.text = AnswerText(self.conversation)

    async def read(self, work: Callable[[], T], deadline: Deadline | None = None) -> T:
        """Run a function that reads the site in a thread, which is abandoned at a deadline (default: the answer's)."""
        limiter = compute_limiter() if self.navigator.library.is_local else None
        end = deadline or self.deadline
        return await end.run(lambda: run_in_thread(work, limiter), SITE)
