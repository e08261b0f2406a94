"""The skill of a site: a SKILL.md that tells agents how to find and read its sections, the index, and copies of both.

The file is an Agent Skill (agentskills.io); `SKILL.md.jinja` is its template. The index follows Agent Skills Discovery
0.2.0, and has the field `files` of version 0.1, which installers still read. Its addresses are relative, so that the
folder can be copied or redirected.

Clients look for copies in `.well-known` at the root of a host only (RFC 8615), so a site below another path has none.
MkDocs deletes no hidden files of earlier builds, so our own ones are recognized by their content.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from importlib import resources
from os.path import lexists
from pathlib import Path
from urllib.parse import urljoin, urlsplit

from mkdocs_roaming.files import read_regular_file
from mkdocs_roaming.manifest.builder import summarize_home
from mkdocs_roaming.manifest.expand import render_section_file
from mkdocs_roaming.manifest.lookup import SectionIndex, SectionRef
from mkdocs_roaming.manifest.models import LLMS_TXT, Manifest, path_to_url
from mkdocs_roaming.manifest.page_kinds import PageKind, classify_pages
from mkdocs_roaming.manifest.sections import file_digest
from mkdocs_roaming.publish.agents.mcp_clients import make_server_name
from mkdocs_roaming.publish.cache import SiteFile
from mkdocs_roaming.publish.elements.widget import parse_widget_options
from mkdocs_roaming.publish.llms_txt import BY_A_MODEL, format_size, full_size
from mkdocs_roaming.publish.options import PublishOptions
from mkdocs_roaming.text.markdown import shorten, to_italics, to_single_line, truncate_at_word

INDEX_NAME = "index.json"

SKILL_FOLDER = "roaming/skill/"
"""The folder of the skill, which every site has."""

WELL_KNOWN = ".well-known/"

_COPIED_SKILLS = f"{WELL_KNOWN}agent-skills/"
_COPIED_LIST = f"{WELL_KNOWN}{LLMS_TXT}"
_OWN_SENTENCE = "A collapsed outline of all sections is at "
_GENERATOR = "mkdocs-roaming"
_SCHEMA = "https://schemas.agentskills.io/discovery/0.2.0/schema.json"
_VERSION = re.compile(r"\(?\bv?\d+\.[\w.]+\)?")
"""The version in the name of a site: `(v2.1)`."""
_UNSPECIFIC = re.compile(r"\b(?:the|official|docs|documentation)\b", re.IGNORECASE)
"""Words in the name of a site that do not say what it is about."""
_WORD = re.compile(r"\w+")
_GENERIC_NAMES = ("docs", "documentation")
_ID = re.compile(r"\[([0-9a-f]{8})\] ")
"""The id of a section in the outline: `[1a2b3c4d] Install`."""
# The description has room for 1,024.
_MAX_NAME_CHARS = 100
_MAX_SUMMARY_CHARS = 250
_MAX_TOPICS_CHARS = 350


def name_skill(manifest: Manifest) -> str:
    """Return the name of a site's skill: at most 64 lower-case letters, digits and single hyphens."""
    name = _VERSION.sub("", manifest.site.name)  # an installed skill is replaced by that of the next version
    slug = make_server_name(name, manifest.site.url)
    if slug in _GENERIC_NAMES:
        slug = make_server_name("", manifest.site.url)
    return slug if _is_documentation(slug) else f"{slug}-docs"


def skill_path(manifest: Manifest) -> str:
    """Return the path of the site's SKILL.md."""
    return f"{SKILL_FOLDER}{name_skill(manifest)}/SKILL.md"


def iter_skill_files(
    sections: SectionIndex, outline: str, options: PublishOptions, *, section_files: bool
) -> Iterator[tuple[str, bytes]]:
    """Yield path and content of the SKILL.md of a site, and of the index that lists it.

    Args:
        sections: The sections of the site.
        outline: The published outline.
        options: The options of the site.
        section_files: Whether the site publishes a file for each section.
    """
    manifest = sections.manifest
    name = name_skill(manifest)
    description = _describe(manifest)
    text = _render_skill(name, description, sections, outline, options, section_files=section_files)
    data = text.encode("utf-8", "replace")
    path = skill_path(manifest)
    yield path, data
    entry = {
        "name": name,
        "type": "skill-md",
        "description": description,
        "url": path.removeprefix(SKILL_FOLDER),
        "digest": file_digest(data),
        "files": ["SKILL.md"],
    }
    index = {"$schema": _SCHEMA, "skills": [entry], "generator": _GENERATOR}
    yield f"{SKILL_FOLDER}{INDEX_NAME}", json.dumps(index, indent=2, ensure_ascii=False).encode() + b"\n"


def _render_skill(
    name: str,
    description: str,
    sections: SectionIndex,
    outline: str,
    options: PublishOptions,
    *,
    section_files: bool,
) -> str:
    from jinja2 import Environment, StrictUndefined  # slow to import, and only used where a skill is written

    manifest = sections.manifest
    example = _choose_example(sections, outline)
    site = manifest.site
    home = next((page.summary for page in manifest.pages if not (page.path or page.description)), "")
    has_own = not home or site.description != summarize_home(manifest.pages)
    widget = parse_widget_options(options.widget)
    endpoint = ""
    if widget and widget.endpoint:
        endpoint = urljoin(site.url, widget.endpoint).rstrip("/") + "/"
    template = resources.files(__package__).joinpath("SKILL.md.jinja").read_text("utf-8")
    environment = Environment(
        trim_blocks=True, lstrip_blocks=True, keep_trailing_newline=True, undefined=StrictUndefined
    )
    return environment.from_string(template).render(
        name=name,
        description=json.dumps(description, ensure_ascii=False),
        generator=_GENERATOR,
        subject=_describe_subject(full_name(manifest)),
        summary=to_single_line(site.description) if has_own else "",
        home_summary=to_italics(to_single_line(home)) if home else "",
        by_a_model=BY_A_MODEL,
        url=site.url,
        outline_size=format_size(len(outline.encode())),
        section_files=section_files,
        llms_txt=options.llms_txt is not False,
        full_size=full_size(manifest),
        example_id=example.id,
        example_title=to_single_line(example.section.title),
        example_lines=render_section_file(sections, example, lambda _: "")[0].split("\n")[:2],
        example_url=sections.url(example),
        page_title=to_single_line(example.page.title),
        page_url=path_to_url(site.url, example.page.markdown),
        endpoint=endpoint,
        mcp=options.find_mcp_url(site.url, endpoint),
    )


def full_name(manifest: Manifest) -> str:
    """Return the name of a site with its version, on one line."""
    name = truncate_at_word(to_single_line(manifest.site.name), _MAX_NAME_CHARS)
    if manifest.site.version:
        name += f" {to_single_line(manifest.site.version)}"
    return name


def _describe(manifest: Manifest) -> str:
    """Return the description, by which agents decide whether to open the skill."""
    name = full_name(manifest)
    summary = shorten(to_single_line(manifest.site.description), _MAX_SUMMARY_CHARS)
    kinds = classify_pages(manifest)
    guides = [page.title for page in manifest.pages if page.path and kinds[page.path] is PageKind.GUIDE]
    topics = []
    size = 0
    for title in map(to_single_line, dict.fromkeys(guides)):
        size += len(title) + len(", ")
        if size < _MAX_TOPICS_CHARS:
            topics.append(title)
    topic = " ".join(_UNSPECIFIC.sub("", name).split()).strip(" -–—:|") or name
    text = f"Find and read {_describe_subject(name)}. Use it for questions and tasks about {topic}."
    if summary:
        text += f" {summary}"
        if summary[-1].isalnum():
            text += "."
    if topics:
        text += f" It covers: {', '.join(topics)}."
    return text


def _describe_subject(name: str) -> str:
    return name if _is_documentation(name) else f"the documentation of {name}"


def _is_documentation(name: str) -> bool:
    return not set(_GENERIC_NAMES).isdisjoint(_WORD.findall(name.casefold()))


def _choose_example(sections: SectionIndex, outline: str) -> SectionRef:
    """Return a section of a guide that the outline lists, if possible the one that most others link to."""
    kinds = classify_pages(sections.manifest)
    listed = set(_ID.findall(outline))
    links = Counter(link for section in sections.manifest.sections() for link in section.links)

    def rank(place: SectionRef) -> tuple[int, ...]:
        section = place.section
        is_inner = section.id != place.page.id
        is_guide = kinds[place.page.path] is PageKind.GUIDE
        return section.id in listed, is_inner, is_guide, bool(section.opening), links[section.id]

    return max(sections, key=rank)


# Copies


def iter_copies(files: Iterable[SiteFile], site_url: str) -> Iterator[SiteFile]:
    """Yield the files below `.well-known` for the files of a site; none unless the site is the root of its host."""
    if urlsplit(site_url).path not in ("", "/"):
        return
    for file in files:
        if file.path == LLMS_TXT:
            yield SiteFile(_COPIED_LIST, file.head)
        elif file.path.startswith(SKILL_FOLDER):
            yield SiteFile(_COPIED_SKILLS + file.path.removeprefix(SKILL_FOLDER), file.head)


def iter_own_copies(folder: Path) -> Iterator[str]:
    """Yield the paths of the files below `.well-known` that an earlier build has written."""
    for pattern in (_COPIED_LIST, f"{_COPIED_SKILLS}{INDEX_NAME}", f"{_COPIED_SKILLS}*/SKILL.md"):
        for file in folder.glob(pattern):
            path = file.relative_to(folder).as_posix()
            if is_own_copy(folder, path):
                yield path


def is_own_copy(folder: Path, path: str) -> bool:
    """Return whether an earlier build has written a file below `.well-known`."""
    try:
        text = read_regular_file(folder / path).decode("utf-8", "replace")
        if path.endswith(f"/{INDEX_NAME}"):
            index = json.loads(text)
            return isinstance(index, dict) and index.get("generator") == _GENERATOR
    except (OSError, ValueError):
        return False
    if path == _COPIED_LIST:
        return f"\n{_OWN_SENTENCE}" in f"\n{text}"
    head, end, _ = text.partition("\n---\n")
    return bool(end) and head.startswith("---\n") and f"\n  generator: {_GENERATOR}\n" in f"{head}\n"


def is_foreign_copy(folder: Path, path: str) -> bool:
    """Return whether something else has written the file at a path below `.well-known`."""
    return path.startswith(WELL_KNOWN) and lexists(folder / path) and not is_own_copy(folder, path)
