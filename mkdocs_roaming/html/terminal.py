"""Animated terminals: code with HTML tags for colors, or one element per line, as Termynal shows them."""

from __future__ import annotations

import re
from html import unescape

from mkdocs_roaming.html.code import extract_code, format_fence
from mkdocs_roaming.html.visitor import Element, Visitor

_LANGUAGE = "console"
_TAG = re.compile(r"</?(?:a|b|em|font|i|p|span|strong|u)\b[^<>]*>", re.IGNORECASE)
_LINE_BREAK = re.compile(r"<br ?/?>", re.IGNORECASE)
_COMMENT = re.compile(r"^// ", re.MULTILINE)
_CUSTOM_PROMPT = re.compile(r"^# ([^\n]*?)\$ ", re.MULTILINE)


def write_terminal(visitor: Visitor, element: Element, out: list[str]) -> None:
    """Write an animated terminal as a console session."""
    lines = [line for line in element.iterdescendants() if line.get("data-ty") is not None]
    if not lines:
        with visitor.within(default_language=_LANGUAGE, code_filter=clean_session):
            visitor.write_group(element, out)
    elif content := "\n".join(_format_line(visitor, line) for line in lines).strip("\n"):
        out.append(format_fence(content, _LANGUAGE))


def clean_session(code: str) -> str:
    """Return the source of an animation as a console session: without tags, comments and prompts as in a shell.

    In the source, `// text` is a comment, and `# Name: $ value` is input after the prompt `Name: `.
    """
    if "<" in code:
        code = _TAG.sub("", _LINE_BREAK.sub("\n", code))
    code = _CUSTOM_PROMPT.sub(r"\1 ", code)
    return unescape(_COMMENT.sub("# ", code))


def _format_line(visitor: Visitor, line: Element) -> str:
    text = extract_code(line, visitor.roles).rstrip()
    kind, prompt = line.get("data-ty"), line.get("data-ty-prompt")
    if kind == "progress":
        text = "---> 100%"
    elif kind == "input" and prompt is None:
        prompt = "$"
    return f"{prompt} {text}".strip() if prompt else text
