"""Formulas as TeX between dollar signs: their sources in a page, and those that a script would find in its text."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import urljoin

from lxml import etree

from mkdocs_roaming.html.document import remove_element
from mkdocs_roaming.html.inline import add_space_after, add_space_before
from mkdocs_roaming.html.mathml import format_tag, write_tex
from mkdocs_roaming.html.themes import ROLE_CLASS, Roles, load_themes
from mkdocs_roaming.html.visitor import Blocks, Element, Pieces, Visitor, element_text, has_class, local_name
from mkdocs_roaming.manifest.models import path_to_url, url_to_path

_DISPLAY = ("$$", "$$")
_DELIMITERS = (_DISPLAY, ("\\(", "\\)"), ("$", "$"))
_MARKDOWN_LINE = re.compile(r"\s*(?:=+|-+|#{1,6}\s.*|>.*|[-+*]\s.*|\d+[.)]\s.*|`{3,}.*|~{3,}.*|<.*)$")
"""A line of a formula that Markdown would read as a heading, a list or the like: `= x`, `- y`."""
_SCRIPTS = {"sub": "_", "sup": "^"}
_COMMENT = re.compile(r"(?<!\\)%.*")
"""A comment of TeX: `% text`, but not `50\\%`."""


def write_math(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write a formula within a line."""
    written = format_formula(element)
    if not written:
        visitor.write_inline(element, pieces)
        return
    is_display = written.startswith("$$")
    if is_display:
        add_space_before(visitor, pieces)
    visitor.record_plain(written)
    pieces.append(written)
    if is_display:
        add_space_after(visitor, element, pieces)


def format_formula(element: Element) -> str:
    """Return a formula on one line, between dollar signs; `""` if its TeX is unknown."""
    tex, display = _extract_tex(element)
    if not tex:
        return ""
    dollars = "$$" if display else "$"
    words = _COMMENT.sub("", tex).split()
    return f"{dollars}{' '.join(words)}{dollars}"


def write_script(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write the formula in a script for MathJax. Other scripts are dropped."""
    if _read_source(element):
        write_math(visitor, element, pieces)


def write_display_math(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a formula on lines of its own."""
    tex, _ = _extract_tex(element)
    if not tex:
        visitor.write_group(element, out)
        return
    visitor.record_anchor(element)
    lines = [line.rstrip() for line in _COMMENT.sub("", tex).splitlines() if line.strip()]
    # TeX does not mind joined lines, but Markdown would read some lines as a list or the like.
    separator = " " if any(_MARKDOWN_LINE.match(line) for line in lines) else "\n"
    out.append(f"$$\n{separator.join(lines)}\n$$")


def write_raw_math(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write blocks whose formulas are still text, as notebooks leave them to MathJax."""
    _wrap_formulas(element, visitor.themes.roles, WITH_DOLLARS)
    visitor.write_group(element, out)


def _extract_tex(element: Element) -> tuple[str, bool]:
    """Return a formula as TeX, `""` if it is unknown, and whether it is display math."""
    parts = list(element.iter("*"))
    label = "".join(element_text(part) for part in parts if has_class(part, "eqno"))
    for script in list(element.iter(*_SCRIPTS)):
        script.text = f"{_SCRIPTS[script.tag]}{{{script.text or ''}"
        script.tail = f"}}{script.tail or ''}"
        script.tag = "span"  # its text says what it is
    text = element_text(element).replace(label, "", 1).strip()
    tex, display = _find_tex(element, parts, text)
    return _add_number(tex, label), display


def _find_tex(element: Element, parts: Sequence[Element], text: str) -> tuple[str, bool]:
    """Return the TeX in the parts or the text of a formula, and whether it is display math."""
    classes = element.get("class", "")
    is_block = element.get("display") in ("true", "block") or element.get("mode") == "display"
    display = is_block or "display" in classes
    for part in parts:
        if source := _read_source(part):
            return source, display or "mode=display" in part.get("type", "")
    for part in parts:
        if local_name(part) == "math":
            return write_tex(part), display
    before, opening, rest = text.partition("\\[")
    inner, closing, after = rest.rpartition("\\]")
    if opening and closing:
        return _add_number(inner.strip(), before + after), True
    if text.startswith("\\begin{"):
        return text, True
    for delimiters in _DELIMITERS:
        start, end = delimiters
        is_long_enough = len(text) >= len(start) + len(end)
        if is_long_enough and text.startswith(start) and text.endswith(end):
            return text.removeprefix(start).removesuffix(end).strip(), delimiters is _DISPLAY
    return (text, display) if "math" in classes.split() else ("", False)


def _read_source(element: Element) -> str:
    """Return the TeX that an element keeps of a formula."""
    match local_name(element):
        case "script" if element.get("type", "").startswith("math/tex"):
            return element_text(element).strip()
        case "annotation" if element.get("encoding", "").lower().endswith("tex"):
            return element_text(element).strip()
        case "math" | "mjx-math" | "g":  # of LaTeXML, MathJax 4
            return element.get("alttext") or element.get("data-latex") or ""
        case "img":
            return element.get("alt", "")
    return ""


def _add_number(tex: str, label: str) -> str:
    """Add the number that a page shows next to an equation."""
    if tex and "(" in label and "\\tag" not in tex:
        return f"{tex} {format_tag(label)}"
    return tex


# Formulas that are text until a script of the page finds them

_FORMULA = r"""
      \$\$.+?\$\$ | \\(?<!\\\\)(?:\[(?:(?!\\\[).)+?\\\] | \((?:(?!\\\().)+?\\\))
    | \\begin\{(?P<name>\w+\*?)\}.{1,2000}?\\end\{(?P=name)\}
"""
_WITHOUT_DOLLARS = re.compile(_FORMULA, re.DOTALL | re.VERBOSE)
"""Formulas of MathJax by default: `$$x$$`, `\\[x\\]`, `\\(x\\)`, `\\begin{align}x\\end{align}`."""
WITH_DOLLARS = re.compile(rf"{_FORMULA} | \$(?<![\\$].)[^$]+(?<!\\)\$(?!\d)", re.DOTALL | re.VERBOSE)
"""Formulas where a single dollar is a delimiter, too: `$x$`."""
_WITH_ASCIIMATH = re.compile(rf"{_FORMULA} | \\\$.+?\\\$", re.DOTALL | re.VERBOSE)
"""Formulas of Asciidoctor, which delimits AsciiMath by escaped dollar signs."""
_RENDERER = re.compile(
    r"""
      \bmathjax(?:@|[\w./-]*\.js)(?![^"'\s]*[/=](?:mml|am)[-_])  # not a bundle without TeX
    | \btex-(?:mml-)?(?:chtml|svg)\b | \bMathJax\s*=(?!=) | \bMathJax\.Hub\.Config\b
    | \bauto-render\b | \brenderMathInElement\b
    """,
    re.IGNORECASE | re.VERBOSE,
)
"""What loads or configures MathJax, or KaTeX for all of a page."""
_MAX_SCRIPT = 20_000
"""Size of a script that configures a renderer, and is not the renderer itself."""
_TEXT_BEFORE = etree.XPath("string(preceding-sibling::node()[1][self::text()])")
_MAX_FORMULA = 2_000
"""Characters that are searched for the beginning of a formula with line breaks."""
_DOLLAR_DELIMITERS = ("'$'", '"$"')
_ALL_IGNORED = re.compile(r"ignoreHtmlClass\W+\.\*")
"""`ignoreHtmlClass: ".*|"` in the configuration of MathJax: only marked elements have formulas."""
_OPAQUE_ROLES = frozenset({"code", "code-span", "display-math", "drawing", "math", "mermaid", "script", "skip"})


def read_site_script(folder: Path, site_url: str, page: str, src: str) -> str:
    """Return the content of a short script of a page, given by its path, if it is a file of the site."""
    path = url_to_path(site_url, urljoin(path_to_url(site_url, page), src))
    with suppress(OSError, ValueError):
        file = folder / (path or "")
        if file.is_file() and file.stat().st_size < _MAX_SCRIPT:
            return file.read_text("utf-8", "replace")
    return ""


def mark_formulas(article: Element, page: Element, read_script: Callable[[str], str] = lambda src: "") -> bool:
    """Mark the formulas that scripts of a page would find in the text of its article. Return whether there are any.

    Args:
        article: The article, which is changed.
        page: The whole page.
        read_script: Returns the content of a script by its `src`, `""` if it is not known.
    """
    text = element_text(article)
    scripts: list[str] = []
    for script in page.iter("script") if "$" in text or "\\" in text else ():
        src = script.get("src")
        parts = [*map(str, script.values()), script.text or "", read_script(src) if src else ""]
        content = "\n".join(parts)
        if _RENDERER.search(content):
            scripts.append(content)
    configuration = "\n".join(scripts)
    if not scripts or _ALL_IGNORED.search(configuration):
        return False
    if "asciimath2jax" in configuration:
        pattern = _WITH_ASCIIMATH
    elif any(delimiter in configuration for delimiter in _DOLLAR_DELIMITERS):
        pattern = WITH_DOLLARS
    else:
        pattern = _WITHOUT_DOLLARS
    return _wrap_formulas(article, load_themes().roles, pattern)


def _wrap_formulas(article: Element, roles: Roles, pattern: re.Pattern[str]) -> bool:
    """Wrap formulas that are still text in elements with the role `math`. Return whether there are any."""
    for line_break in list(article.iter("br")):
        before = str(_TEXT_BEFORE(line_break))
        if len(before) < _MAX_FORMULA and before.count("$$") % 2:
            line_break.tail = f"\n{line_break.tail or ''}"
            remove_element(line_break)
    is_changed = False
    texts: Any = article.xpath("descendant-or-self::*/text()")
    for text in texts:
        matches = list(pattern.finditer(text))
        element = text.getparent()
        around = element.getparent() if text.is_tail else element
        if not matches or any(_is_opaque(outer, roles) for outer in (around, *around.iterancestors())):
            continue
        is_changed = True
        if text.is_tail:
            place = "tail"
            insert = element.addnext
        else:
            place = "text"
            insert = partial(element.insert, 0)
        setattr(element, place, None)
        end = len(text)
        for match in reversed(matches):
            formula = etree.Element("span", {"class": f"{ROLE_CLASS}math"})
            formula.text = match[0]
            if match[0].startswith("\\$"):  # AsciiMath
                formula.set("class", f"{ROLE_CLASS}code-span")
                formula.text = match[0].removeprefix("\\$").removesuffix("\\$")
            formula.tail = text[match.end() : end]
            insert(formula)
            end = match.start()
        setattr(element, place, text[:end])
    return is_changed


def _is_opaque(element: Element, roles: Roles) -> bool:
    """Return whether scripts look for no formulas in an element."""
    role = roles[element.tag, element.get("class")]
    return role in _OPAQUE_ROLES or has_class(element, "tex2jax_ignore", "mathjax_ignore")
