"""Formulas: the TeX that math was made from, between dollars."""

from __future__ import annotations

import re

from mkdocs_roaming.html.visitor import Element, Visitor, element_text


def write_math(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write a formula within a line as TeX between dollars."""
    tex, display = extract_tex(element)
    if not tex:
        walk.inline(element, pieces)
        return
    tex = " ".join(tex.split())
    written = f"$${tex}$$" if display else f"${tex}$"
    if walk.plain is not None:
        walk.plain.append(written)
    pieces.append(written)


def write_script(walk: Visitor, element: Element, pieces: list[str]) -> None:
    """Write the formula that a script holds for MathJax; other scripts go."""
    if (element.get("type") or "").startswith("math/tex"):
        write_math(walk, element, pieces)


def extract_tex(element: Element) -> tuple[str, bool]:
    """Give the TeX that an element was made from, and whether it stands on lines of its own."""
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


_DISPLAY = re.compile(r"\$\$(.*)\$\$", re.DOTALL)
_INLINE = re.compile(r"\\\((.*)\\\)|\$(.*)\$", re.DOTALL)
