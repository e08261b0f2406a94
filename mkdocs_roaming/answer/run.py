"""The state of an answer, from its question to its last event."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from mkdocs_roaming.answer.budget import SITE, Budget, Deadline, StopAnswer, compute_limiter, stop_on_error
from mkdocs_roaming.answer.citations import AnswerText
from mkdocs_roaming.answer.conversation import Conversation
from mkdocs_roaming.answer.events import AnswerState
from mkdocs_roaming.answer.models.base import NO_USAGE, Model, OpenSection, Usage
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
        conversation: The turns so far.
        text: The text that the reader has.
        rules: The instructions for the model.
        outline: The outline, or the text of a small site.
        site: The sections of a small site.
        max_rounds: Maximum number of requests.
        round: Number of the current request.
        call_ids: The ids of all tool calls so far.
        usage: All tokens so far.
        state: How the answer ended; None until then.
        stop: Why it ended early.
        has_passages: Whether the reader has the closest passages instead of an answer.
    """

    question: str
    navigator: Navigator
    model: Model
    budget: Budget
    deadline: Deadline
    conversation: Conversation = field(init=False)
    text: AnswerText = field(init=False)
    rules: str = ""
    outline: str = ""
    site: tuple[OpenSection, ...] = ()
    max_rounds: int = field(init=False)
    round: int = 0
    call_ids: set[str] = field(default_factory=set)
    usage: Usage = NO_USAGE
    state: AnswerState | None = None
    stop: StopAnswer | None = None
    has_passages: bool = False

    def __post_init__(self) -> None:
        self.conversation = Conversation(self.navigator)
        self.text = AnswerText(self.conversation)
        self.max_rounds = self.budget.rounds

    async def read(self, work: Callable[[], T]) -> T:
        """Run a function that reads the site in a thread."""
        limiter = compute_limiter() if self.navigator.library.is_local else None
        return await stop_on_error(self.deadline.run_in_thread(work, limiter), SITE)
