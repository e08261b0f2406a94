"""A brain that describes the sections of its request, for `roaming describe`."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable
from typing import Any

from messages_api.parts import Call, Part, View


def describe(asked: dict[str, Any]) -> dict[str, Any]:
    """Return texts about the sections of a request."""
    sections = [
        {"id": one["id"], "about": f"About {one['title']}", "asks": [f"What do I do with {one['title']}?"]}
        for one in asked["sections"]
    ]
    return {"sections": sections, "description": f"{asked['page']} of the site" if asked.get("asked_for") else ""}


def read_request(view: View) -> dict[str, Any]:
    """Return the data of a request."""
    asked: dict[str, Any] = json.loads(view.context[view.context.index("{") : view.context.rindex("}") + 1])
    return asked


class Writer:
    """Calls the tool with texts about the sections of a request.

    Args:
        change: Returns the arguments of the tool for a request.
        before: Returns parts that come first, such as a pause or an error; an empty reply follows an error.
    """

    def __init__(
        self,
        change: Callable[[dict[str, Any]], object] = describe,
        before: Callable[[dict[str, Any]], Iterable[Part]] = lambda asked: (),
    ) -> None:
        self.change, self.before = change, before
        self.asked: list[dict[str, Any]] = []

    def reply(self, view: View) -> Iterable[Part]:
        """Return the reply to a request."""
        asked = read_request(view)
        self.asked.append(asked)
        yield from self.before(asked)
        yield Call("describe_sections", self.change(asked))
