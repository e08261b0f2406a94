"""Formulas in MathML as TeX."""

from __future__ import annotations

import re
from collections.abc import Sequence
from string import ascii_lowercase

from mkdocs_roaming.html.escape import normalize_whitespace
from mkdocs_roaming.html.visitor import Element, element_text, local_name

_TEMPLATES = {
    "maligngroup": "",
    "malignmark": "",
    "math": "#0",
    "merror": "#0",
    "mfrac": r"\frac{#1}{#2}",
    "mi": "#0",
    "mn": "#0",
    "mo": "#0",
    "mover": r"\overset{#2}{#1}",
    "mpadded": "#0",
    "mphantom": "",
    "mroot": r"\sqrt[#2]{#1}",
    "mrow": "#0",
    "mspace": r"\,",
    "msqrt": r"\sqrt{#0}",
    "mstyle": "#0",
    "msub": "#1_{#2}",
    "msubsup": "#1_{#2}^{#3}",
    "msup": "#1^{#2}",
    "mtd": "#0",
    "munder": r"\underset{#2}{#1}",
    "munderover": r"\underset{#2}{\overset{#3}{#1}}",
    "none": "",
}
"""TeX by tag. `#1` is the first child, `#0` is all children."""
_WITHOUT_LINE = r"{#1 \atop #2}"
_WITH_LIMITS = {"mover": "#1^{#2}", "munder": "#1_{#2}", "munderover": "#1_{#2}^{#3}"}
_ACCENTS = {
    r"\^{}": r"\hat{#1}",
    "ˆ": r"\hat{#1}",
    r"\~{}": r"\tilde{#1}",
    "˜": r"\tilde{#1}",
    "¯": r"\overline{#1}",
    "ˉ": r"\overline{#1}",
    "‾": r"\overline{#1}",
    "―": r"\overline{#1}",
    "→": r"\vec{#1}",
    "\u20d7": r"\vec{#1}",
    "˙": r"\dot{#1}",
    "¨": r"\ddot{#1}",
}
_FONTS = {
    "bold": r"\mathbf",
    "bold-italic": r"\boldsymbol",
    "double-struck": r"\mathbb",
    "fraktur": r"\mathfrak",
    "monospace": r"\mathtt",
    "sans-serif": r"\mathsf",
    "script": r"\mathcal",
}
_ESCAPES = str.maketrans(
    {
        **{character: f"\\{character}" for character in "#$%&_{}"},
        **dict.fromkeys("\u2062\u2063\u2064", r"\,"),  # a product, a list or a sum without a sign
        "\u2061": "",
        "\\": r"\backslash{}",
        "^": r"\^{}",
        "~": r"\~{}",
    }
)
_UNITS = ascii_lowercase + "%"
"""Characters of the unit of a length, such as `0.0px`."""
_OPERATOR = re.compile(r"[∏-∑∫-∳⋀-⋃⨀-⫿]|\\mathrm\{\w+\}")
"""A base whose limits are written like scripts: `∑`, `\\mathrm{lim}`."""
_ATOM = re.compile(r".|\d+|\\\w+(?:\{\w+\})?")
"""A base that needs no braces: `x`, `12`, `\\alpha`, `\\mathbf{x}`."""
_PARAMETER = re.compile(r"#(\d)")


def write_tex(math: Element) -> str:
    r"""Return a formula as TeX.

    An element that TeX has no command for, such as one of Content MathML or one with the wrong number of children, is
    written like a function: `\operatorname{divide}(1, 2)`.
    """
    written: dict[Element, str] = {}
    for element in reversed(list(math.iter("*"))):  # children come before their parents
        parts: list[str] = []
        if text := (element.text or "").strip():
            parts.append(_write_token(text, element))
        for child in element.iterchildren("*"):
            parts.append(written.pop(child))
            if text := (child.tail or "").strip():
                parts.append(_write_token(text, element))
        written[element] = _write_element(element, parts)
    return written[math].strip()


def format_tag(label: str) -> str:
    """Return the command that numbers an equation, for a label such as `(7)`."""
    before, parenthesis, _ = label.partition(")")
    number = before.rpartition("(")[2] if parenthesis and "(" in before else ""
    return rf"\tag{{{number}}}" if number else rf"\tag*{{{label}}}"


def _write_token(text: str, element: Element) -> str:
    is_word = len(text) > 1 and any(map(str.isalpha, text))
    variant = element.get("mathvariant", "")
    font = _FONTS.get(variant, r"\mathrm" if is_word else "")
    tex = text.translate(_ESCAPES)
    return f"{font}{{{tex}}}" if font else tex


def _write_element(element: Element, parts: Sequence[str]) -> str:
    tag = local_name(element)
    match tag:
        case "mtext" | "ms":
            text = normalize_whitespace(element_text(element))
            return rf"\text{{{text.translate(_ESCAPES)}}}"
        case "maction" | "semantics":  # the other children are alternatives
            return "".join(parts[:1])
        case "apply" if parts:
            return f"{parts[0]}({', '.join(parts[1:])})"
        case "mtr":
            return " & ".join(parts)
        case "mlabeledtr" if parts:
            return f"{' & '.join(parts[1:])} {format_tag(parts[0])}"
        case "mtable":
            has_numbers = element.find("mlabeledtr") is not None
            if has_numbers and len(parts) == 1:
                return parts[0]
            name = "align" if has_numbers else "matrix"
            rows = r" \\ ".join(parts)
            return rf"\begin{{{name}}} {rows} \end{{{name}}}"
    template = _find_template(element, tag, parts)
    values = [" ".join(filter(None, parts)), *parts]
    if template.startswith("#1") and not _ATOM.fullmatch(parts[0]):
        values[1] = f"{{{parts[0]}}}"
    return _PARAMETER.sub(lambda match: values[int(match[1])], template)


def _find_template(element: Element, tag: str, parts: Sequence[str]) -> str:
    template = _TEMPLATES.get(tag)
    if template is None or ("#1" in template and template.count("#") != len(parts)):
        name = rf"\operatorname{{{tag.translate(_ESCAPES)}}}"
        if not parts:
            return name
        return f"{name}({', '.join(parts)})" if len(element) else "#0"
    thickness = element.get("linethickness", "")
    if tag == "mfrac" and thickness.startswith("0") and not thickness.rstrip(_UNITS).strip("0."):
        return _WITHOUT_LINE
    if tag == "mover" and parts[1] in _ACCENTS:
        return _ACCENTS[parts[1]]
    has_limits = bool(parts) and _OPERATOR.fullmatch(parts[0])
    return _WITH_LIMITS.get(tag, template) if has_limits else template
