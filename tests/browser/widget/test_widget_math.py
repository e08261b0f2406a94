"""Formulas in answers: typeset by what the page has loaded, else their source."""

from __future__ import annotations

import shutil

import pytest
from playwright.sync_api import Page, expect

from ..conftest import install_package
from .conftest import STRICT, TESTS, Stage, Widget, answer, box_of

SCRIPTS = {
    "katex": '<link rel=stylesheet href="katex/dist/katex.min.css"><script src="katex/dist/katex.min.js"></script>',
    "mathjax": '<script src="mathjax/es5/tex-mml-chtml.js"></script>',
}
VERSIONS = {"katex": "0.16", "mathjax": "3"}
FORMULAS = (
    "The level is \\(h_t = \\sqrt{a^2 + b^2}\\) at high water, $t_0$ hours later, for $5 or $6.\n\n"
    "$$\n\\frac{\\Delta h}{\\Delta t}\n= \\int_0^T v(t)\\,dt\n$$\n\n\\[\nx\n- y\n\\]\n\nRun `ebb \\(x\\)`."
)
HOSTILE = (TESTS / "golden/widget/hostile-formulas.tex").read_text("utf-8").splitlines()


@pytest.fixture(params=list(SCRIPTS))
def renderer(request: pytest.FixtureRequest, stage: Stage) -> str:
    """The renderer that the pages of the site load."""
    shutil.copytree(install_package(request.param, VERSIONS[request.param]), stage.folder / request.param)
    return str(request.param)


def test_renderer_of_page_typesets_formulas_in_panel(page: Page, stage: Stage, widget: Widget, renderer: str) -> None:
    stage.plays(answer(FORMULAS))
    turn = widget.visit(stage.page(body=SCRIPTS[renderer])).ask("How high?")
    expect(turn.locator(".math.typeset")).to_have_count(4)
    drawn = turn.locator({"katex": ".katex-html .mord", "mathjax": "mjx-math mjx-mi"}[renderer])
    assert drawn.count() > 5
    font = drawn.first.evaluate(
        "one => getComputedStyle(one, '::before').fontFamily + getComputedStyle(one).fontFamily"
    )
    assert {"katex": "KaTeX", "mathjax": "MJX"}[renderer] in font + turn.inner_html()
    box = box_of(drawn.first)
    assert box["width"] > 4  # its glyph is there
    for strut in turn.locator(".strut").all():  # of KaTeX; the panel hides its own empty elements
        expect(strut).not_to_have_css("display", "none")
    assert "for $5 or $6." in turn.inner_text()
    assert "\\(x\\)" in turn.locator("p code").inner_text()
    below = turn.locator(".math.block").first
    below_box = box_of(below)
    assert below_box["height"] > 24  # a fraction: the styles are there


def test_formulas_of_hostile_answers_stay_source_text(page: Page, stage: Stage, widget: Widget, renderer: str) -> None:
    stage.plays(answer("\n\n".join(f"$${tex}$$" for tex in HOSTILE) + "\n\n$$x$$"))
    page.goto(stage.page(body=SCRIPTS[renderer]))
    page.evaluate("void (window.hit = () => (window.wasHit = true))")
    turn = widget.open().ask("How high?")
    expect(turn.locator(".math").last).to_have_class("math block typeset")
    assert turn.locator(".math a, .math img, .math script, .math [href], .math [onerror], .math .opener").count() == 0
    assert "evil" not in "".join(turn.locator(".math.typeset").all_inner_texts())
    assert not page.evaluate("window.wasHit")
    assert turn.locator(".math").evaluate_all("all => Math.max(...all.map((one) => one.offsetWidth))") <= 640
    frac = "katex.renderToString('\\\\frac12')" if renderer == "katex" else "MathJax.tex2chtml('\\\\frac12').outerHTML"
    assert "gone" not in page.evaluate(frac)


def test_formulas_stay_source_text_without_renderer(page: Page, stage: Stage, widget: Widget) -> None:
    stage.csp = STRICT
    stage.plays(answer(FORMULAS + " \\[optional **flag**\\]. Prices: $a_b$ and $c_d$."))
    turn = widget.visit(stage.page()).ask("How high?")
    text = turn.locator(".answer").inner_text()
    assert "\\(h_t = \\sqrt{a^2 + b^2}\\)" in text
    assert "$$ \\frac{\\Delta h}{\\Delta t} = \\int_0^T v(t)\\,dt $$" in text.replace("\n", " ")
    assert "[optional flag]." in text
    assert "Prices: $a_b$ and $c_d$." in text
    assert turn.locator(".answer ul, .answer em").count() == 0
