"""What themes do to Markdown, as data: which element plays which role, and where tabs, titles and articles are.

Adding a theme is adding entries here. A selector is `.class` or `tag.class`; one that ends in `_` or `-` fits every
class that begins so (Docusaurus hashes its class names).
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, cast

from lxml import etree

Find = Callable[[etree._Element], list[etree._Element]]
"""Finds elements below one."""


def split_names(text: str) -> tuple[str, ...]:
    """Give names that stand in a text, with spaces between."""
    return tuple(text.split())


# Roles, the strongest first: an element whose classes name several plays the first of them.

RULES: tuple[tuple[str, str], ...] = (
    ("group", "nav.md-post__action"),
    ("pager", "nav.md-pagination"),
    (
        "skip",
        # permalinks and footnote backlinks
        ".headerlink .hash-link .header-anchor .anchorjs-link .heading-anchor .doc-anchor .sl-anchor-link "
        ".footnote-definition-label .footnote-backref .fn-backref .backrefs .data-footnote-backref "
        # what a page asks to leave out, and what is there for the ear only
        ".no-llms .visually-hidden .visuallyhidden .sr-only .screen-reader .screen-reader-text "
        # code blocks: buttons, line numbers, the language's name in a corner
        ".md-clipboard .md-code__nav .md-code__button .copybtn .copy-button .copy-btn .clipboard-button "
        ".buttonGroup_ .line-numbers-wrapper .linenos .lineno .linenodiv .rouge-gutter .gutter "
        "span.lang button.copy .copy .zeroclipboard-container "
        # previews of scripts that typeset
        ".MathJax_Preview .katex-html .MJX_Assistive_MathML "
        # the theme around the text
        ".md-content__button .md-source-file .md-feedback .md-tags .md-path .md-banner .md-consent "
        ".md-header .md-sidebar .md-footer .md-dialog "
        ".theme-doc-breadcrumbs .theme-doc-footer .theme-doc-toc-mobile .theme-doc-version-badge .tocCollapsible_ "
        ".theme-edit-this-page .pagination-nav .pager .prev-next-area .prev-next-footer .header-article-items "
        ".rst-breadcrumbs-buttons .rst-footer-buttons .wy-breadcrumbs .wy-breadcrumbs-aside .related-pages "
        ".edit-this-page .edit-link .page-edit .last-updated .back-to-top .content-icon-container .view-this-page "
        ".sphinxsidebar .related .clearer div.toc .mobile-only-toc .pagination-links .feedback "
        "div.contents div.bd-header-article .mw-editsection",
    ),
    ("text", "a.glightbox"),
    ("self link", "a.toclink a.toc-backref a.header a.anchor-heading"),
    ("permalink", "a.anchor a.anchor-link a.permalink a.heading-link"),
    ("note reference", "a.footnote-ref a.footnote-reference a.footnote_reference sup.footnote-reference"),
    ("notes", "div.footnote section.footnotes div.footnotes aside.footnote-list aside.footnote dl.footnote"),
    ("notes", "ol.footnote-definition div.footnote-definition"),
    ("display math", "div.arithmatex div.math div.katex-display"),
    ("math", "span.arithmatex span.math .katex .katex-display span.katex-display mjx-container.MathJax"),
    ("mermaid", "pre.mermaid div.mermaid"),
    ("callout title", ".admonition-title .admonitionHeading_ .custom-block-title .starlight-aside__title"),
    ("callout title", ".markdown-alert-title .alert-heading .alert-title .blockquote-tag-title p.topic-title"),
    ("callout title", ".sidebar-title .sd-card-title-callout"),
    (
        "callout",
        "div.admonition section.admonition aside.admonition .theme-admonition div.alert .custom-block "
        "aside.starlight-aside .markdown-alert blockquote.blockquote-tag div.seealso div.versionadded "
        "div.versionchanged div.deprecated div.versionremoved div.topic aside.topic aside.sidebar div.callout "
        "div.warning",
    ),
    (
        "tabs",
        "div.tab-set .tabbed-set .tabs-container .theme-tabs-container .sd-tab-set .sphinx-tabs .vp-code-group",
    ),
    (
        "code table",
        "table.highlighttable table.codehilitetable table.rouge-table table.codetable table.lntable table.hljs-ln",
    ),
    ("code title", "span.filename th.filename .codeBlockTitle_ .code-block-caption figcaption.header .code-title"),
    ("object heading", "h1.doc-heading h2.doc-heading h3.doc-heading h4.doc-heading h5.doc-heading h6.doc-heading"),
    ("classifier", "span.classifier"),
    ("note label", "span.label"),
    ("strong", "span.doc-section-title"),
    ("signature", "div.doc-signature"),
    ("labels", "span.doc-labels"),
    ("apart", "span.comment span.description"),
    ("line block", "div.line-block"),
    ("rubric", "p.rubric div.rubric div.sd-card-title"),
    (
        "code wrapper",
        "div.highlight div.codehilite figure.highlight div.literal-block-wrapper div.theme-code-block "
        "div.expressive-code figure.frame div.sourceCode div.language- div.highlight- "
        "div.codeBlockContainer_ div.codehilite-",
    ),
    ("emoji", "img.twemoji img.emojione img.gemoji img.emoji span.twemoji span.emoji"),
)

TAG_ROLES: dict[str, str] = {
    **dict.fromkeys(split_names("h1 h2 h3 h4 h5 h6"), "heading"),
    **dict.fromkeys(split_names("ul ol menu dir"), "list"),
    **dict.fromkeys(split_names("pre listing xmp"), "code"),
    **dict.fromkeys(split_names("em i cite dfn var"), "emphasis"),
    **dict.fromkeys(split_names("strong b"), "strong"),
    **dict.fromkeys(split_names("del s strike"), "strike"),
    **dict.fromkeys(split_names("code tt samp"), "code span"),
    **dict.fromkeys(split_names("kbd sub sup mark ins u"), "tag"),
    **dict.fromkeys(split_names("iframe video audio embed"), "media"),
    **dict.fromkeys(
        split_names(
            "address article aside body center dd div dt fieldset figure footer form header hgroup html legend li "
            "main p search section tbody td tfoot th thead tr caption"
        ),
        "group",
    ),
    **dict.fromkeys(
        split_names(
            "area base basefont button canvas col colgroup datalist frame frameset head link map meta meter nav "
            "noframes noscript param progress rp select source style svg template textarea title track"
        ),
        "skip",
    ),
    "a": "link",
    "autoref": "link",
    "blockquote": "quote",
    "br": "break",
    "details": "callout",
    "dl": "definitions",
    "figcaption": "caption",
    "hr": "rule",
    "img": "image",
    "input": "input",
    "math": "math",
    "mjx-container": "math",
    "q": "quotation",
    "script": "script",
    "starlight-file-tree": "file tree",
    "starlight-tabs": "tabs",
    "summary": "callout title",
    "table": "table",
}

BLOCK_TAGS = frozenset(
    tag
    for tag, role in TAG_ROLES.items()
    if role in ("heading", "list", "code", "group", "quote", "callout", "definitions", "rule", "table", "tabs")
) | {"figcaption", "summary"}
"""Tags that cannot stand inside a line of text."""


def find_role(tag: Any, classes: str | None) -> str:
    """Give the role of an element; `span` means that it only holds other things, within a line."""
    if not isinstance(tag, str):
        return "skip"
    best: tuple[int, str] | None = None
    for token in (classes or "").split():
        for rank, wanted, role in _rules_for(token):
            if (wanted is None or wanted == tag) and (best is None or rank < best[0]):
                best = (rank, role)
    return best[1] if best else TAG_ROLES.get(tag, "span")


class Roles(dict[tuple[Any, str | None], str]):
    """Roles by tag and class attribute, looked up once each."""

    def __missing__(self, key: tuple[Any, str | None]) -> str:
        """Look it up. What a page brings in is bounded, however many classes it invents."""
        if len(self) > 10_000:
            self.clear()
        role = self[key] = find_role(*key)
        return role


# Callouts

CALLOUTS: dict[str, str] = {
    **dict.fromkeys(
        split_names(
            "note seealso abstract summary tldr info todo question help faq example quote cite secondary topic "
            "versionadded versionchanged details sidebar"
        ),
        "NOTE",
    ),
    **dict.fromkeys(split_names("tip hint success check done new"), "TIP"),
    **dict.fromkeys(split_names("important attention"), "IMPORTANT"),
    **dict.fromkeys(split_names("warning deprecated versionremoved experimental"), "WARNING"),
    **dict.fromkeys(split_names("caution danger error failure fail missing bug"), "CAUTION"),
}
"""GFM's five kinds for everybody's."""

CALLOUT_PREFIXES = (
    "theme-admonition-",
    "starlight-aside--",
    "markdown-alert-",
    "blockquote-tag-",
    "alert--",
    "alert-",
    "callout-",
)


@lru_cache(maxsize=1024)
def admonition_kind(classes: str) -> str:
    """Give the GFM kind of a callout by its classes, NOTE where none is known."""
    for token in classes.lower().split():
        for prefix in CALLOUT_PREFIXES:
            token = token.removeprefix(prefix)
        if token in CALLOUTS:
            return CALLOUTS[token]
    return "NOTE"


# Code

NO_LANGUAGE = frozenset(split_names("text txt plain plaintext none default nohighlight no-highlight raw notranslate"))

LANGUAGES = frozenset(
    split_names(
        "bash bat batch c console cpp cs csharp css csv dart diff django docker dockerfile elixir erlang fish go "
        "graphql groovy haskell html http ini java javascript jinja jinja2 js json json5 jsonc jsx julia kotlin latex "
        "less lua make makefile markdown matlab md mermaid nginx nix objc objectivec ocaml perl php powershell proto "
        "protobuf pwsh py pycon pyi python python3 r rb regex rs rst ruby rust sass scala scss sh shell solidity sql "
        "svelte svg swift terraform tex toml ts tsx typescript vb vim vue xml yaml yml zig zsh hcl"
    )
)
"""Names that mean a language where they stand as a bare class beside one of `CODE_CLASSES`."""

CODE_CLASSES = frozenset(
    split_names("highlight codehilite sourcecode hljs prettyprint chroma shiki code literal-block")
)

_LANGUAGE = re.compile(
    r"(?:^|\s)(?:language-|lang-|highlight-source-|highlight-text-|src-|brush:\s*)([^\s;{}]+)"
    r"|(?:^|\s)highlight-(?!source|text)([A-Za-z0-9+#._-]+)"
)


@lru_cache(maxsize=4096)
def find_language(classes: str | None) -> str | None:
    """Give the language that classes name: `""` where they say it is plain text, None where they don't say."""
    if not classes:
        return None
    if found := _LANGUAGE.search(classes):
        name = (found[1] or found[2]).replace("`", "")
        return "" if name.lower() in NO_LANGUAGE else name
    tokens = classes.split()
    if not CODE_CLASSES.isdisjoint(token.lower() for token in tokens):
        return next((token for token in tokens if token.lower() in LANGUAGES), None)
    return None


LINE_NUMBERS = frozenset(split_names("linenos lineno linenodiv ln line-number line-numbers gutter lnt hljs-ln-numbers"))

CODE_CLUTTER = frozenset(split_names("button svg style script select textarea template noscript img"))
"""Tags inside a code block that are no code."""

# Headings and links

PERMALINKS = frozenset({"", "#", "¶", "§", "🔗", "⚓", "⚓︎", "permalink", "anchor", "link", "\u200b", "\ufeff"})
"""What a link from a heading to itself says."""

BACKLINKS = ("#fnref", "#fr-", "#user-content-fnref", "#cite_ref")
"""Where a link leads that goes from a footnote back to where it is used."""

SOURCE_LINKS = frozenset({"viewcode-link", "viewcode-back"})

# Tabs


def _find(path: str) -> Find:
    compiled = etree.XPath(path)
    return lambda element: cast(list[etree._Element], compiled(element))


def _has(name: str) -> str:
    return f"contains(concat(' ',normalize-space(@class),' '),' {name} ')"


@dataclass(frozen=True, slots=True)
class Tabs:
    """Where labels and panels are, below the element that holds a set of tabs."""

    labels: Find
    panels: Find


def _tabs(labels: str, panels: str) -> Tabs:
    return Tabs(_find(labels), _find(panels))


TABS: tuple[Tabs, ...] = (
    # pymdownx.tabbed with alternate_style, then without
    _tabs(f"./div[{_has('tabbed-labels')}]/label", f"./div[{_has('tabbed-content')}]/div[{_has('tabbed-block')}]"),
    _tabs("./label", f"./div[{_has('tabbed-content')}]"),
    # Sphinx-design, sphinx-tabs, sphinx-inline-tabs
    _tabs(f"./label[{_has('sd-tab-label')}]", f"./div[{_has('sd-tab-content')}]"),
    _tabs("./div[@role='tablist']//*[@role='tab']", f"./div[{_has('sphinx-tabs-panel')}]"),
    _tabs(f"./label[{_has('tab-label')}]", f"./div[{_has('tab-content')}]"),
    # VitePress
    _tabs(f"./div[{_has('tabs')}]/label", f"./div[{_has('blocks')}]/*"),
    # Docusaurus, Starlight, whoever else says so by role
    _tabs("./*[@role='tablist']//*[@role='tab']", "./*[@role='tabpanel']|./*/*[@role='tabpanel']"),
    _tabs("./*/*[@role='tablist']//*[@role='tab']", "./*[@role='tabpanel']|./*/*[@role='tabpanel']"),
)

# Articles

ARTICLES = (
    ".md-content__inner",
    ".theme-doc-markdown",
    "[itemprop=articleBody]",
    "article.bd-article",
    "#furo-main-content",
    "div.body[role=main]",
    "main .vp-doc",
    ".sl-markdown-content",
    "section.markdown-section",
    "#content main",
    "[role=main]",
    "main article",
    "main",
    "article",
    "[data-md-component=container]",  # home pages write around the article, and leave it empty
    "body",
)
"""Where the article is on a page, of any theme: the first that is there and has text."""


@cache
def article_selectors() -> tuple[Find, ...]:
    """Give what finds `ARTICLES` on a page."""
    return tuple(_find(_xpath(selector)) for selector in ARTICLES)


@cache
def excerpt_selector() -> Find:
    """Give what finds the excerpts of posts in a blog's list: the head of each stands before its heading."""
    head = f"header[{_has('md-post__header')}]"
    content = f"div[{_has('md-post__content')}]"
    return _find(f".//article[{_has('md-post--excerpt')}][{head}]/{content}")


_PART = re.compile(r"(?P<tag>^[\w-]+)|\.(?P<cls>[\w-]+)|#(?P<id>[\w-]+)|\[(?P<key>[\w-]+)=(?P<value>\w+)\]")


def _xpath(selector: str) -> str:
    path = ""
    for simple in selector.split():
        tag, tests = "*", ""
        for part in _PART.finditer(simple):
            if part["tag"]:
                tag = part["tag"]
            elif part["cls"]:
                tests += f"[{_has(part['cls'])}]"
            elif part["id"]:
                tests += f"[@id='{part['id']}']"
            else:
                tests += f"[@{part['key']}='{part['value']}']"
        path += f"//{tag}{tests}"
    return path


def _compile(rules: tuple[tuple[str, str], ...]) -> dict[str, list[tuple[int, str | None, str]]]:
    found: dict[str, list[tuple[int, str | None, str]]] = {}
    for rank, (role, selectors) in enumerate(rules):
        for selector in selectors.split():
            tag, _, name = selector.partition(".")
            found.setdefault(name, []).append((rank, tag or None, role))
    return found


_BY_CLASS = _compile(RULES)
_BEGINNINGS = tuple(name for name in _BY_CLASS if name.endswith(("_", "-")))


def _rules_for(token: str) -> list[tuple[int, str | None, str]]:
    rules = _BY_CLASS.get(token, [])
    for beginning in _BEGINNINGS:
        if token.startswith(beginning):
            rules = rules + _BY_CLASS[beginning]
    return rules
