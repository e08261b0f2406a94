"""Math: the TeX source of a formula, between dollar signs."""

from __future__ import annotations

import re

from mkdocs_roaming.html.visitor import Element, Visitor, element_text

_DISPLAY = re.compile(r"\$\$(.*)\$\$", re.DOTALL)
_INLINE = re.compile(r"\\\((.*)\\\)|\$(.*)\$", re.DOTALL)
_MARKDOWN_LINE = re.compile(r"\s*(?:=+|-+|#{1,6}\s.*|>.*|[-+*]\s.*|\d+[.)]\s.*|`{3,}.*|~{3,}.*|<.*)$")


def write_math(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a formula within a line."""
    tex, display = extract_tex(element)
    if not tex:
        visitor.write_inline(element, pieces)
        return
    dollars = "$$" if display else "$"
    written = f"{dollars}{' '.join(tex.split())}{dollars}"
    visitor.record_plain(written)
    pieces.append(written)


def write_script(visitor: Visitor, element: Element, pieces: list[str]) -> None:
    """Write the formula in a script for MathJax. Other scripts are dropped."""
    if (element.get("type") or "").startswith("math/tex"):
        write_math(visitor, element, pieces)


def write_display_math(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write a formula on lines of its own."""
    tex, _ = extract_tex(element)
    if not tex:
        visitor.write_group(element, out)
        return
    lines = [line.rstrip() for line in tex.splitlines() if line.strip()]
    # TeX does not mind joined lines, but Markdown would read some lines as a list or the like.
    separator = " " if any(_MARKDOWN_LINE.match(line) for line in lines) else "\n"
    out.append(f"$$\n{separator.join(lines)}\n$$")


def extract_tex(element: Element) -> tuple[str, bool]:
    """Return the TeX source of a formula, `""` if there is none, and whether it is display math."""
    kind = element.get("type") or ""
    if kind.startswith("math/tex"):
        return element_text(element).strip(), "mode=display" in kind
    classes = element.get("class") or ""
    display = "display" in classes or element.get("display") in ("true", "block") or element.get("mode") == "display"
    for annotation in element.iter("annotation"):
        if annotation.get("encoding") == "application/x-tex":
            return element_text(annotation).strip(), display
    inner = next((child for child in element.iter("script") if (child.get("type") or "").startswith("math/tex")), None)
    if inner is not None:
        return extract_tex(inner)
    if element.tag == "math":
        return (element.get("alttext") or "").strip(), display
    text = element_text(element).strip()
    begin, end = text.find("\\["), text.rfind("\\]")
    if -1 < begin < end:
        return text[begin + 2 : end].strip(), True
    if found := _DISPLAY.fullmatch(text):
        return found[1].strip(), True
    if found := _INLINE.fullmatch(text):
        return (found[1] or found[2]).strip(), False
    return (text, display) if "math" in classes.split() else ("", False)
