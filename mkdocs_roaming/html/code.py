"""Code: blocks, animated terminals and inline code, their languages and titles."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from html import unescape
from itertools import groupby, islice

from lxml import etree

from mkdocs_roaming.html.escape import format_code_span
from mkdocs_roaming.html.inline import escape_exclamation_mark, is_script_url
from mkdocs_roaming.html.themes import Roles, split_names
from mkdocs_roaming.html.visitor import Blocks, Element, Pieces, Visitor, element_text
from mkdocs_roaming.text.blocks import lengthen_fence

LANGUAGES = frozenset(
    split_names(
        "bash bat batch c console cpp cs csharp css csv dart diff django docker dockerfile elixir erlang fish go "
        "graphql groovy haskell html http ini java javascript jinja jinja2 js json json5 jsonc jsx julia kotlin latex "
        "less lua make makefile markdown matlab md mermaid nginx nix objc objectivec ocaml perl php powershell proto "
        "protobuf pwsh py pycon pyi python python3 r rb regex rs rst ruby rust sass scala scss sh shell solidity sql "
        "svelte svg swift terraform tex toml ts tsx typescript vb vim vue xml yaml yml zig zsh hcl"
    )
)
"""Classes that name a language without a prefix, next to one of `_CODE_CLASSES`."""

_PLAIN = frozenset(
    split_names("text txt plain plaintext none default nohighlight no-highlight raw notranslate myst-ansi ipythontb")
)
_PYTHON = frozenset({"ipython2", "ipython3"})
"""Names of Python in notebooks, which only Pygments knows."""
_CODE_CLASSES = frozenset(
    split_names(
        "highlight codehilite sourcecode hljs prettyprint chroma shiki code literal-block rust-example-rendered"
    )
)
_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language-|lang-|highlight-source-|highlight-text-|src-|brush:\s*)([^\s;{}]+)"
    r"|(?:^|\s)highlight(?:-ipynb)?\s+hl-(?:i(?=python))?(python(?=3)|[A-Za-z0-9+#._-]+)"  # notebooks, by nbconvert
    r"|(?:^|\s)highlight-(?!source|text)([A-Za-z0-9+#._-]+)"
)
"""A class that names a language by a prefix: `language-python`, `highlight-source-shell`, `hl-ipython3`."""
_LINE_NUMBERS = frozenset(
    split_names("linenos lineno linenodiv ln line-number line-numbers gutter lnt hljs-ln-numbers")
)
_CLUTTER = frozenset(split_names("button svg style script select summary textarea template noscript img"))
"""Tags inside a code block that are not code."""
_LINES = ("div", "tr")
"""Tags inside a code block that are lines of code."""
_CHECKED_SPANS = 10
"""Number of the first spans of a code block that show whether it has line numbers."""
_MAX_DEPTH = 100
"""Elements of a code block that are nested deeper are read as plain text."""
_CACHED_CLASSES = 4096
_LINE_TAG = re.compile("<br ?/?>", re.IGNORECASE)
_TERMINAL_TAG = re.compile(r"</?(?:a|b|em|font|i|p|span|strong|u)\b[^<>]*>", re.IGNORECASE)
"""A tag in the source of an animated terminal, which is text."""

CodePiece = tuple[str, str | None]
"""Text of an expression, and the target of the link around it."""


@lru_cache(maxsize=_CACHED_CLASSES)
def find_language(classes: str | None) -> str | None:
    """Return the language that classes name: `""` for plain text, None if they name none."""
    if not classes:
        return None
    if match := _LANGUAGE.search(classes):
        name = (match[1] or match[2] or match[3]).replace("`", "")
        if name.lower() in _PLAIN:
            return ""
        return "python" if name in _PYTHON else name
    tokens = classes.split()
    if _CODE_CLASSES.isdisjoint(map(str.lower, tokens)):
        return None
    return next((token for token in tokens if token.lower() in LANGUAGES), None)


def write_code_block(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a code block."""
    content = extract_code(element, visitor.themes.roles)
    if not content.strip():
        return
    context = visitor.context
    language = find_block_language(element)
    if language is None:
        language = context.language
    recorded = _take_language(visitor, content) if visitor.recorded_languages else ""
    if not language:  # Pygments names languages that it does not know "text"
        language = recorded or (context.default_language if language is None else "")
    if context.in_terminal:
        content = _clean_session(content)
    title = context.code_title
    context.code_title = None
    if title and _names_language(title, language):
        title = None
    out.append(format_fence(content, language, title))


@lru_cache(maxsize=_CACHED_CLASSES)
def _names_language(title: str, language: str) -> bool:
    """Return whether a title is what Pygments calls the language, as `auto_title` of pymdownx.highlight writes it.

    A title that is also the name of a file, such as Makefile, remains.
    """
    from rich.syntax import Syntax  # not at the top: few pages have such titles

    lexer = Syntax("", language or "text").lexer
    return lexer is not None and title.casefold() == lexer.name.casefold() and title not in lexer.filenames


def write_mermaid(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a diagram as its source code, or as the drawing that a script has made of it."""
    if content := extract_code(element, visitor.themes.roles).strip():
        out.append(format_fence(content, "mermaid"))
    else:
        visitor.write_group(element, out)


def write_code_wrapper(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write the content of an element around a code block, which may name the language and the title."""
    context = visitor.context
    language = find_own_language(element)
    if language is None:
        language = context.language
    with visitor.within(language=language, code_title=context.code_title, in_code=True):
        visitor.write_group(element, out)


def write_signature(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write the content of an element around the signature of an API object: Python unless it says otherwise."""
    with visitor.within(default_language="python"):
        write_code_wrapper(visitor, element, out)


def write_code_title(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Save the title of a code block for the block that follows."""
    if not visitor.context.in_code:
        visitor.write_blocks(element, out)
        return
    title = _gather_code(element, visitor.themes.roles)
    visitor.context.code_title = " ".join(title.split()) or None


def write_code_table(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write a code block that is in a table next to its line numbers."""
    pres = list(element.iter("pre"))
    if not pres:
        visitor.block_writers["table"](visitor, element, out)
        return
    with visitor.within(code_title=visitor.context.code_title, in_code=True):
        for cell in element.iter("th"):
            if visitor.role(cell) == "code-title":
                write_code_title(visitor, cell, out)
        write_code_block(visitor, pres[-1], out)


def format_fence(content: str, language: str, title: str | None = None) -> str:
    """Format code as a fenced block. The fence is longer than any in the code."""
    fence = lengthen_fence("```", content)
    info = language
    if title:
        quoted = title.replace('"', "'").replace("`", "'")
        info = f'{language} title="{quoted}"'
    return f"{fence}{info}\n{content}\n{fence}"


def extract_code(element: Element, roles: Roles) -> str:
    """Return the code of a `pre` element, without line numbers, buttons and the outer line breaks."""
    has_clutter = next(element.iter("br", "div", "td", *_CLUTTER), None) is not None
    if not has_clutter:
        spans = islice(element.iter("span", "a"), _CHECKED_SPANS)
        has_clutter = any(_is_clutter(span, roles) for span in spans)
    text = _gather_code(element, roles) if has_clutter else element_text(element)
    if "\r" in text:
        text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text.removeprefix("\n").removesuffix("\n")


def find_block_language(element: Element) -> str | None:
    """Return the language that a `pre` element, or the `code` in it, names."""
    language = find_language(element.get("class"))
    if language is None and (code := next(element.iter("code"), None)) is not None:
        language = find_own_language(code)
    if language is None:
        language = _read_language(element, "data-language", "data-lang", "lang")
    return language


def find_own_language(element: Element) -> str | None:
    """Return the language that the class or an attribute of an element names: `""` for plain text."""
    language = find_language(element.get("class"))
    if language is None:
        language = _read_language(element, "data-lang", "data-language")
    return language


def _read_language(element: Element, *attributes: str) -> str | None:
    """Return the language in the first of these attributes that is not empty: `""` for plain text."""
    language = next(filter(None, map(element.get, attributes)), None)
    return "" if language and language.lower() in _PLAIN else language


def _is_clutter(element: Element, roles: Roles) -> bool:
    """Return whether an element in a code block is not code."""
    tag = element.tag
    classes = element.get("class")
    if not isinstance(tag, str) or tag in _CLUTTER:
        return True
    if classes and tag != "code" and not _LINE_NUMBERS.isdisjoint(classes.split()):
        return True
    return tag in ("span", "a") and roles[tag, classes] == "skip"


def _gather_code(element: Element, roles: Roles, depth: int = 0) -> str:
    """Return the text of an element without what is not code. Elements that are lines end with a line break."""
    if depth > _MAX_DEPTH:
        return element_text(element)
    pieces = [element.text or ""]
    for child in element:
        if not _is_clutter(child, roles):
            code = "\n" if child.tag == "br" else _gather_code(child, roles, depth + 1)
            if child.tag in _LINES and not code.endswith("\n"):
                code += "\n"
            pieces.append(code)
        tail = child.tail or ""
        is_between_lines = element.tag == "div" and child.tag in _LINES  # white space there is not shown
        if not (is_between_lines and tail.isspace()):
            pieces.append(tail)
    return "".join(pieces)


# Animated terminals, as Termynal shows them


def write_terminal(visitor: Visitor, element: Element, out: Blocks) -> None:
    """Write an animated terminal as a console session: its code, or one element per line."""
    lines = [line for line in element.iterdescendants() if line.get("data-ty") is not None]
    if not lines:
        with visitor.within(default_language="console", in_terminal=True):
            visitor.write_group(element, out)
    elif content := "\n".join(_format_terminal_line(visitor, line) for line in lines).strip("\n"):
        out.append(format_fence(content, "console"))


def _clean_session(code: str) -> str:
    """Return the source of an animation as a console session: without tags, comments and prompts as in a shell.

    In the source, `// text` is a comment, and `# Name: $ value` is input after the prompt `Name: `.
    """
    if "<" in code:
        code = _TERMINAL_TAG.sub("", _LINE_TAG.sub("\n", code))
    lines = []
    for line in code.split("\n"):
        if line.startswith("# "):
            prompt, dollar, command = line.removeprefix("# ").partition("$ ")
            line = f"{prompt} {command}" if dollar else line
        if line.startswith("// "):
            line = "# " + line.removeprefix("// ")
        lines.append(line)
    return unescape("\n".join(lines))


def _format_terminal_line(visitor: Visitor, line: Element) -> str:
    text = extract_code(line, visitor.themes.roles).rstrip()
    kind = line.get("data-ty")
    prompt = line.get("data-ty-prompt")
    if kind == "progress":
        text = "---> 100%"
    elif kind == "input" and prompt is None:
        prompt = "$"
    return f"{prompt} {text}".strip() if prompt else text


# Inline code


def write_code_span(visitor: Visitor, element: Element, pieces: Pieces) -> None:
    """Write inline code. Links in it are kept around their part of the code."""
    if visitor.context.in_link or element.find(".//a[@href]") is None:
        _write_code(visitor, element_text(element), pieces)
        return
    for href, group in groupby(iter_code_pieces(visitor, element), key=lambda piece: piece[1]):
        text = "".join(text for text, _ in group)
        if href and not is_script_url(href):
            inner: Pieces = []
            _write_code(visitor, text, inner)
            escape_exclamation_mark(pieces)
            pieces.append(f"[{''.join(inner)}]({visitor.destination(href)})")
        else:
            _write_code(visitor, text, pieces)


def _write_code(visitor: Visitor, text: str, pieces: Pieces) -> None:
    if not text:
        return
    if pieces and pieces[-1][:1] == pieces[-1][-1:] == "`":
        visitor.write_text(" ", pieces)  # adjacent code spans would be read as one with backticks in it
    visitor.record_plain(text)
    pieces.append(format_code_span(text))


def iter_code_pieces(visitor: Visitor, element: Element) -> Iterator[CodePiece]:
    """Yield the text of an element in pieces, each with the target of the link around it."""
    href = None
    link: Element | None = None
    walker = etree.iterwalk(element, events=("start", "end"))
    for event, node in walker:
        if event == "start":
            if visitor.role(node) in ("skip", "labels"):
                walker.skip_subtree()
                continue
            if link is None and node.tag == "a" and node.get("href"):
                link = node
                href = node.get("href")
            text = " " if node.tag == "br" else node.text
        else:
            if node is link:
                link = None
                href = None
            text = node.tail if node is not element else None
        if text:
            yield text, href


# Languages that the HTML does not name


def index_languages(recorded: Sequence[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the languages of code blocks by their code without white space, the next one last."""
    languages: dict[str, list[str]] = {}
    for code, language in reversed(recorded):
        languages.setdefault("".join(code.split()), []).append(language)
    return languages


def _take_language(visitor: Visitor, code: str) -> str:
    """Return the language of the next code block with this content, an empty string if it is unknown."""
    languages = visitor.recorded_languages.get("".join(code.split()), [""])
    language = languages.pop() if len(languages) > 1 else languages[0]
    return "" if language.lower() in _PLAIN else language.replace("`", "")
