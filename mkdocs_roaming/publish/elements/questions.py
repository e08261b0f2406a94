"""The questions that the widget suggests, from front matter, the site's question file and the options of the widget.

They are written by people, never made from headings.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, MutableMapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import yaml

from mkdocs_roaming.errors import PublishError
from mkdocs_roaming.manifest.models import Page, canonicalize_path, url_to_path
from mkdocs_roaming.text.markdown import to_single_line

MAX_SUGGESTIONS = 4
"""Maximum number of questions that a page suggests."""

MAX_QUESTION_CHARS = 120
"""Longer questions of a question file are not suggested."""

_MAX_PAGE_QUESTIONS = 12


@dataclass(frozen=True, slots=True)
class FileQuestion:
    """A question of a question file, and the addresses of the pages that it belongs to."""

    text: str
    addresses: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class SiteQuestions:
    """The questions of a site that do not come from its pages.

    Attributes:
        everywhere: Questions for pages without own ones.
        of_file: The questions of the question file.
    """

    everywhere: tuple[str, ...] = ()
    of_file: tuple[FileQuestion, ...] = ()

    def assign(
        self, pages: MutableMapping[str, Page], front_matter: Mapping[str, Mapping[str, Any]], site_url: str
    ) -> None:
        """Set the questions of all pages: those of their front matter, then those of the question file.

        Args:
            pages: The pages by path.
            front_matter: The front matter of the pages by path.
            site_url: The URL of the site.
        """
        names = {page.source: path for path, page in pages.items() if page.source} if self.of_file else {}
        found: dict[str, list[str]] = {}
        for path, meta in front_matter.items():
            if path in pages and (questions := read_page_questions(meta)):
                found[path] = questions
        for question in self.of_file:
            for address in question.addresses:
                named = names.get(address.partition("#")[0], _find_path(address, site_url))
                if named in pages:
                    found.setdefault(named, []).append(question.text)
        for path, questions in found.items():
            unique = tuple(dict.fromkeys(questions))[:_MAX_PAGE_QUESTIONS]
            pages[path] = replace(pages[path], questions=unique)

    def suggest(self, own: Iterable[str], home: Iterable[str] = ()) -> list[str]:
        """Return the suggestions of a page: its own questions, or those of the options, the home page or the file."""
        of_file = (question.text for question in self.of_file)
        found = next(filter(None, map(list, (own, self.everywhere, home, of_file))), [])
        return found[:MAX_SUGGESTIONS]


def read_page_questions(front_matter: Mapping[str, Any]) -> list[str]:
    """Return the list `questions` of the front matter of a page; `ask` is its former name."""
    for name in ("questions", "ask"):
        if isinstance(given := front_matter.get(name), list):
            texts = (to_single_line(str(item)) for item in given if isinstance(item, str | int | float))
            return [text for text in texts if text]
    return []


def load_site_questions(given: str | tuple[str, ...], folder: Path) -> SiteQuestions:
    """Return the questions of the option `questions`: a list, or the path of a question file.

    Args:
        given: The value of the option.
        folder: The folder of the configuration file.

    Raises:
        PublishError: The file cannot be read or is invalid.
    """
    if isinstance(given, str):
        return SiteQuestions(of_file=read_question_file(folder / given)) if given else SiteQuestions()
    return SiteQuestions(tuple(map(to_single_line, given)))


def read_question_file(file: Path) -> tuple[FileQuestion, ...]:
    """Read the answerable questions of a question file, as `roaming eval` reads it; long ones are left out.

    Raises:
        PublishError: The file cannot be read or is invalid.
    """
    try:
        data = yaml.load(file.read_text("utf-8-sig"), yaml.BaseLoader)  # the safest loader: all is text
    except OSError as error:
        raise PublishError(f"widget: {file}: cannot be read ({error.strerror}); name a question file") from None
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        raise PublishError(f"widget: {file}: invalid YAML ({' '.join(str(error).split())})") from None
    entries = data.get("questions") if isinstance(data, dict) else None
    if not isinstance(entries, list):
        raise PublishError(f"widget: {file}: has no list `questions`; `roaming eval` documents question files")
    return tuple(question for entry in entries if (question := _read_entry(entry)))


def _read_entry(entry: object) -> FileQuestion | None:
    if not isinstance(entry, dict):
        return None
    text, sections = to_single_line(str(entry.get("ask", ""))), entry.get("sections", [])
    if not text or len(text) > MAX_QUESTION_CHARS or str(entry.get("answerable", "true")).lower() in _FALSE:
        return None
    return FileQuestion(text, tuple(map(str, [sections] if isinstance(sections, str) else sections)))


def _find_path(address: str, site_url: str) -> str:
    """Return the path of the page that an address names: a path, or a URL of the site."""
    path = url_to_path(site_url, address)
    return canonicalize_path(address.partition("#")[0]) if path is None else path


_FALSE = ("false", "no", "off")
