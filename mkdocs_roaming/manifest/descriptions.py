"""The file of descriptions: what pages and sections are for, and readers' questions, as a model wrote them.

Authors commit the file next to their configuration. It is JSON with one text per line: pages by path, sections by id,
so that an edited section changes only its own lines. An entry has the digest of the text that it describes; entries of
text that has changed since are stale and not published.
"""

from __future__ import annotations

import hashlib
import re
import shlex
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import msgspec
from msgspec.structs import replace

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.manifest.models import Manifest, PageEntry, SectionEntry
from mkdocs_roaming.text.blocks import find_headings
from mkdocs_roaming.text.markdown import pluralize, to_single_line

DESCRIPTIONS_FILE = "descriptions.json"
"""Default name of the file."""

_FORMAT = 1
_DIGEST_LENGTH = 16
_BODY_LENGTH = 8
"""Length of the digest of a section's body in the manifest, with which that of its entry begins."""

_CONFLICT = re.compile(rb"^(?:<{7}|={7}|>{7})", re.MULTILINE)
"""The beginning of a line that marks a merge conflict: `<<<<<<< HEAD`. The file is no JSON then."""


class SectionTexts(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The texts about a section.

    Attributes:
        title: The title, for reviews of the file.
        digest: Digest of the text below its heading that is described: 16 hex digits of its SHA-256.
        about: What the section tells or lets the reader do.
        asks: Questions that it answers, in readers' words.
        written: Digest of `about` and `asks` as the model wrote them; other texts were edited by a person.
    """

    title: str
    digest: str
    about: str = ""
    asks: tuple[str, ...] = ()
    written: str = ""

    @property
    def body(self) -> str:
        """The `body` of the section that is described."""
        return self.digest[:_BODY_LENGTH]

    @property
    def questions(self) -> tuple[str, ...]:
        """The asks to publish, each on one line."""
        return tuple(map(to_single_line, self.asks))

    @property
    def is_edited(self) -> bool:
        """Whether a person has edited the texts, or written them."""
        return self.written != digest_texts(self.about, *self.asks)


class PageTexts(msgspec.Struct, frozen=True, omit_defaults=True, forbid_unknown_fields=True):
    """The texts about a page and its sections, by id.

    Attributes:
        title: The title, for reviews of the file.
        digest: Digest of its own text and the titles of its sections, which is described.
        description: The description for llms.txt.
        written: Digest of the description as the model wrote it.
        sections: The texts about its sections.
    """

    title: str = ""
    digest: str = ""
    description: str = ""
    written: str = ""
    sections: dict[str, SectionTexts] = {}

    @property
    def is_edited(self) -> bool:
        """Whether a person has edited the description, or written it."""
        return bool(self.description) and self.written != digest_texts(self.description)


class Descriptions(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The content of a file of descriptions."""

    format: int = _FORMAT
    pages: dict[str, PageTexts] = {}


def read_descriptions(path: Path) -> Descriptions:
    """Read a file of descriptions.

    Raises:
        UsageError: The file cannot be read, or is not valid.
    """
    try:
        data = path.read_bytes()
    except OSError as error:
        raise UsageError(f"{path}: cannot be read ({error.strerror or error})") from None
    conflict = _CONFLICT.search(data)
    if conflict:
        line = data.count(b"\n", 0, conflict.start()) + 1
        raise UsageError(
            f"{path}:{line}: has the marks of a merge conflict; keep either side of each: `roaming describe` writes "
            "what is missing again"
        )
    try:
        descriptions = msgspec.json.decode(data, type=Descriptions)
    except msgspec.ValidationError as error:
        raise UsageError(f"{path}: not a file of descriptions: {error}") from None
    except (msgspec.MsgspecError, UnicodeDecodeError) as error:
        byte = str(error).rpartition("(byte ")[2].removesuffix(")")
        line = data.count(b"\n", 0, int(byte) if byte.isdecimal() else len(data)) + 1
        raise UsageError(f"{path}:{line}: not valid JSON ({error}); correct this line, or restore the file") from None
    if descriptions.format != _FORMAT:
        raise UsageError(f"{path}: has format {descriptions.format}, this version reads {_FORMAT}; update the package")
    return descriptions


def read_configured_descriptions(path: Path, warn: Callable[[str], None]) -> Descriptions | None:
    """Read the file of descriptions that a configuration names; None with a warning if it does not exist yet.

    Raises:
        UsageError: The file cannot be read, or is not valid.
    """
    if path.exists():
        return read_descriptions(path)
    command = f"roaming describe SITE_DIR --file {shlex.quote(str(path))}"
    warn(f"{path}: does not exist yet, so no descriptions are published; `{command}` writes it from the built site")
    return None


def render_descriptions(descriptions: Descriptions) -> bytes:
    """Return the content of the file: pages in the order of their paths, sections in that of their ids."""
    pages: dict[str, PageTexts] = {}
    for path, page in sorted(descriptions.pages.items()):
        if page.description or page.sections:
            pages[path] = replace(page, sections=dict(sorted(page.sections.items())))
    data = msgspec.json.encode(replace(descriptions, pages=pages))
    return msgspec.json.format(data, indent=1) + b"\n"


def digest_texts(*texts: str) -> str:
    """Return the digest of texts: 16 hex digits of their SHA-256."""
    data = "\n".join(texts).encode("utf-8", "surrogatepass")
    return hashlib.sha256(data).hexdigest()[:_DIGEST_LENGTH]


def text_digest(text: str) -> str:
    """Return the digest of the text below the heading of a section; it begins with the section's `body`."""
    heading = next(iter(find_headings(text)), None)
    lines = text.splitlines(keepends=True)
    if heading is not None and heading.start == 0:
        text = "".join(lines[heading.end :])
    return digest_texts(text.strip())


def page_digest(page: PageEntry) -> str:
    """Return the digest of what the description of a page describes: its own text, and its sections' titles."""
    headings = [f"{section.level} {section.title}" for section in page.sections]
    return digest_texts(page.sections[0].body, *headings)


# Matching with a build


@dataclass(frozen=True, slots=True)
class Match:
    """The texts about a section of a build.

    Attributes:
        texts: The texts; None if there are none.
        is_stale: Whether they describe an earlier text of the section.
    """

    texts: SectionTexts | None = None
    is_stale: bool = False


class TextIndex:
    """Finds the texts about sections: by id, by a former id, or by the text that was moved to another id.

    Args:
        descriptions: The texts.
        manifest: The site.
    """

    def __init__(self, descriptions: Descriptions, manifest: Manifest) -> None:
        self._by_id: dict[str, SectionTexts] = {}
        for page in descriptions.pages.values():
            self._by_id |= page.sections
        present = {section.id for section in manifest.sections()}
        self._moved: dict[tuple[str, str], SectionTexts] = {}  # by digest and title, and by digest alone
        for id_, texts in self._by_id.items():
            if id_ not in present:
                self._moved.setdefault((texts.body, texts.title), texts)
                self._moved.setdefault((texts.body, ""), texts)

    def find(self, section: SectionEntry) -> Match:
        """Return the texts about a section."""
        candidates = [self._by_id.get(id_) for id_ in (section.id, *section.aliases)]
        if section.body:
            candidates.append(self._moved.get((section.body, section.title)))
            candidates.append(self._moved.get((section.body, "")))
        first: SectionTexts | None = None
        for texts in candidates:
            if texts is not None and texts.body == section.body:
                return Match(texts)
            first = first or texts
        return Match(first, is_stale=first is not None)


def index_first_asks(descriptions: Descriptions) -> dict[tuple[str, str], str]:
    """Return the first question of each section by the digest of its body and its title.

    The HTML of pages is written before their sections have ids.
    """
    asks: dict[tuple[str, str], str] = {}
    for page in descriptions.pages.values():
        for texts in page.sections.values():
            if texts.questions:
                asks[texts.body, texts.title] = texts.questions[0]
    return asks


@dataclass(slots=True)
class DescriptionCounts:
    """How many entries of a file were published, and how many were left out because their text has changed."""

    sections: int = 0
    stale: list[str] = field(default_factory=list)
    """The ids of the sections with stale entries."""

    def __str__(self) -> str:
        stale = f", {len(self.stale)} stale: run `roaming describe`" if self.stale else ""
        return f"{pluralize(self.sections, 'section')} described{stale}"


def describe_manifest(manifest: Manifest, descriptions: Descriptions) -> tuple[Manifest, DescriptionCounts]:
    """Return a manifest with the current texts of a file; other texts that a model has written are removed."""
    index = TextIndex(descriptions, manifest)
    counts = DescriptionCounts()
    pages: list[PageEntry] = []
    for page in manifest.pages:
        texts = descriptions.pages.get(page.path)
        is_current = texts is not None and texts.digest == page_digest(page)
        summary = to_single_line(texts.description) if texts and is_current else ""
        sections: list[SectionEntry] = []
        for section in page.sections:
            match = index.find(section)
            about = ""
            asks: tuple[str, ...] = ()
            if match.is_stale:
                counts.stale.append(section.id)
            elif match.texts is not None:
                about = to_single_line(match.texts.about)
                asks = match.texts.questions
                counts.sections += bool(about or asks)
            sections.append(replace(section, about=about, asks=asks))
        pages.append(replace(page, sections=tuple(sections), summary=summary))
    return replace(manifest, pages=tuple(pages)), counts


def merge_texts(
    descriptions: Descriptions, manifest: Manifest, written: dict[str, SectionTexts], pages: dict[str, PageTexts]
) -> Descriptions:
    """Return the file for a site with new texts: entries follow their sections, entries of deleted ones go.

    Args:
        descriptions: The file.
        manifest: The site.
        written: New texts by the id of their section.
        pages: New descriptions by the path of their page; their `sections` are not used.
    """
    index = TextIndex(descriptions, manifest)
    merged: dict[str, PageTexts] = {}
    for page in manifest.pages:
        sections: dict[str, SectionTexts] = {}
        for section in page.sections:
            texts = written.get(section.id) or index.find(section).texts
            if texts is not None:
                sections[section.id] = replace(texts, title=section.title)
        own = pages.get(page.path) or descriptions.pages.get(page.path) or PageTexts()
        merged[page.path] = replace(own, title=page.title, sections=sections)
    return Descriptions(pages=merged)
