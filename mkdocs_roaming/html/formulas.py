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
from mkdocs_roaming.html.themes import Roles, load_themes, name_class
from mkdocs_roaming.html.visitor import Blocks, Element, Pieces, Visitor, element_text, has_class, local_name
from mkdocs_roaming.manifest.models import path_to_url, url_to_path

_DELIMITED = re.compile(r"\$\$(.*)\$\$|\\\((.*)\\\)|\$(.*)\$", re.DOTALL)
_MARKDOWN_LINE = re.compile(r"\s*(?:=+|-+|#{1,6}\s.*|>.*|[-+*]\s.*|\d+[.)]\s.*|`{3,}.*|~{3,}.*|<.*)$")
_SCRIPTS = {"sub": "_", "sup": "^"}
_COMMENT = re.compile(r"(?<!\\)%.*")
_TEX_ENCODING = re.compile(r"\b(?:la)?tex\b", re.IGNORECASE)


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
    dollars = "$$" if display else "$"
    return tex and f"{dollars}{' '.join(_COMMENT.sub('', tex).split())}{dollars}"


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
    tex, display = _find_tex(element, parts, _read_text(element).replace(label, "", 1).strip())
    return _add_number(tex, label), display


def _read_text(element: Element) -> str:
    """Return the text of a formula, with its subscripts and superscripts as TeX."""
    for script in list(element.iter(*_SCRIPTS)):
        script.text = f"{_SCRIPTS[script.tag]}{{{script.text or ''}"
        script.tail = f"}}{script.tail or ''}"
        script.tag = "span"  # its text says what it is
    return element_text(element)


def _find_tex(element: Element, parts: Sequence[Element], text: str) -> tuple[str, bool]:
    classes = element.get("class") or ""
    display = "display" in classes or element.get("display") in ("true", "block") or element.get("mode") == "display"
    for part in parts:
        if source := _read_source(part):
            return source, display or "mode=display" in part.get("type", "")
    for part in parts:
        if local_name(part) == "math":
            return write_tex(part), display
    begin = text.find("\\[")
    end = text.rfind("\\]")
    if -1 < begin < end:
        return _add_number(text[begin + 2 : end].strip(), text[:begin] + text[end + 2 :]), True
    if text.startswith("\\begin{"):
        return text, True
    if found := _DELIMITED.fullmatch(text):
        return (found[1] or found[2] or found[3] or "").strip(), found[1] is not None
    return (text, display) if "math" in classes.split() else ("", False)


def _read_source(element: Element) -> str:
    """Return the TeX that an element keeps of a formula."""
    match local_name(element):
        case "script" if element.get("type", "").startswith("math/tex"):
            return element_text(element).strip()
        case "annotation" if _TEX_ENCODING.search(element.get("encoding", "")):
            return element_text(element).strip()
        case "math" | "mjx-math" | "g":  # of LaTeXML, MathJax 4
            return element.get("alttext") or element.get("data-latex") or ""
        case "img":
            return element.get("alt") or ""
    return ""


def _add_number(tex: str, label: str) -> str:
    """Add the number that a page shows next to an equation."""
    return f"{tex} {format_tag(label)}" if tex and "(" in label and "\\tag" not in tex else tex


# Formulas that are text until a script of the page finds them

_FORMULA = r"""
      \$\$.+?\$\$ | \\(?<!\\\\)(?:\[(?:(?!\\\[).)+?\\\] | \((?:(?!\\\().)+?\\\))
    | \\begin\{(?P<name>\w+\*?)\}.{1,2000}?\\end\{(?P=name)\}
"""
_WITHOUT_DOLLARS = re.compile(_FORMULA, re.DOTALL | re.VERBOSE)
WITH_DOLLARS = re.compile(rf"{_FORMULA} | \$(?<![\\$].)[^$]+(?<!\\)\$(?!\d)", re.DOTALL | re.VERBOSE)
_BEGINNING = re.compile(r"[$\\]")
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
_DOLLAR_DELIMITER = re.compile(r"""(["'])\$\1""")
_ALL_IGNORED = re.compile(r"ignoreHtmlClass\W+\.\*")
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
    scripts = []
    for script in page.iter("script") if _BEGINNING.search(element_text(article)) else ():
        src = script.get("src") or ""
        text = "\n".join([*map(str, script.values()), script.text or "", read_script(src) if src else ""])
        if _RENDERER.search(text):
            scripts.append(text)
    if not scripts or any(map(_ALL_IGNORED.search, scripts)):
        return False
    pattern = WITH_DOLLARS if any(map(_DOLLAR_DELIMITER.search, scripts)) else _WITHOUT_DOLLARS
    if any("asciimath2jax" in script for script in scripts):
        pattern = _WITH_ASCIIMATH
    return _wrap_formulas(article, load_themes().roles, pattern)


def _wrap_formulas(article: Element, roles: Roles, pattern: re.Pattern[str]) -> bool:
    """Wrap formulas that are still text in elements with the role `math`. Return whether there are any."""
    is_changed = False
    for line_break in list(article.iter("br")):
        before = str(_TEXT_BEFORE(line_break))
        if len(before) < _MAX_FORMULA and before.count("$$") % 2:
            line_break.tail = f"\n{line_break.tail or ''}"
            remove_element(line_break)
    texts: Any = article.xpath("descendant-or-self::*/text()")
    for text in texts:
        matches = list(pattern.finditer(text))
        element = text.getparent()
        around = element.getparent() if text.is_tail else element
        if not matches or any(_is_opaque(outer, roles) for outer in (around, *around.iterancestors())):
            continue
        if text.is_tail:
            place = "tail"
            insert = element.addnext
        else:
            place = "text"
            insert = partial(element.insert, 0)
        setattr(element, place, None)
        end = len(text)
        for found in reversed(matches):
            asciimath = found[0].startswith("\\$")
            formula = etree.Element("span", {"class": name_class("code-span" if asciimath else "math")})
            formula.text = found[0][2:-2] if asciimath else found[0]
            formula.tail = text[found.end() : end]
            insert(formula)
            end = found.start()
        setattr(element, place, text[:end])
        is_changed = True
    return is_changed


def _is_opaque(element: Element, roles: Roles) -> bool:
    """Return whether scripts look for no formulas in an element."""
    role = roles[element.tag, element.get("class")]
    return role in _OPAQUE_ROLES or has_class(element, "tex2jax_ignore", "mathjax_ignore")
