"""Answers of unusual form: everything stays inside the panel, and nothing is cut off."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from .conftest import Stage, Widget, answer, picture
from .test_widget_looks import misplaced

if TYPE_CHECKING:
    from playwright.sync_api import Page

pytestmark = pytest.mark.slow

IDS = [f"{at:08x}" for at in range(12)]
ADDRESS = f"https://docs.example/{'a-long-path-' * 15}end"
PARTS = {
    "code": f"Run it [^{IDS[0]}]:\n\n```sh\nkettle --set {'x' * 400} --verbose\n```\n\n```\n{'0123456789' * 30}\n```",
    "table": "| name | "
    + " | ".join(f"column_{at}_with_a_long_name" for at in range(8))
    + f" |\n{'| - ' * 9}|\n"
    + f"| `server.port` [^{IDS[0]}] {'| a value of some words ' * 8}|\n" * 3,
    "lists": "\n".join(
        f"{'  ' * depth}- Level {depth} with a few more words than fit on one line of the panel [^{IDS[0]}]"
        for depth in range(8)
    )
    + f"\n\n1. One\n2. Two\n   ```py\n   print({'1 + ' * 40}1)\n   ```\n10. Ten [^{IDS[1]}].",
    "citations": " ".join(f"Statement number {at} is true [^{IDS[at % 12]}]." for at in range(30)),
    "many": "All of it holds " + "".join(f"[^{id_}]" for id_ in IDS) + ", and more [^" + "], [^".join(IDS[:4]) + "].",
    "address": f"See {ADDRESS} [^{IDS[0]}], or [this page]({ADDRESS}) [^{IDS[1]}]; `{'very_long_name_' * 8}` [^{IDS[2]}].",
    "rtl": f"غط القدر حتى يغلي الماء [^{IDS[0]}]، ثم شغّل `kettle boil --now` [^{IDS[1]}].\n\n"
    "- الخطوة الأولى.\n- الخطوة الثانية.\n\n> ملاحظة قصيرة.\n\n| الاسم | القيمة |\n| - | - |\n| المنفذ | 8642 |",
    "chinese": f"# 启动\n\n先把水壶盖好 [^{IDS[0]}]，等水开了再打开盖子 [^{IDS[1]}]。端口是 `8642` [^{IDS[2]}]；可以在设置里修改。\n\n"
    "- 第一步：打开电源。\n- 第二步：等待两分钟。",
    "headings": f"# A heading\n\nText [^{IDS[0]}].\n\n## A second heading that is so long that it needs more than one line\n\n"
    f"Text [^{IDS[1]}].\n\n### Third with `code`\n\n- Item [^{IDS[2]}].\n\n---\n\n#### Fourth\n\n> [!NOTE]\n> Quoted [^{IDS[3]}].",
    "only code": f'```python\nprint("Hello")\n```\n\n[^{IDS[0]}]',
}


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PARTS)
def test_awkward_answer_stays_inside_panel(page: Page, stage: Stage, widget: Widget, name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 1600})
    stage.plays(answer(PARTS[name], **{id_: f"{stage.url}#{id_}" for id_ in IDS}))
    turn = widget.visit(
        stage.page('endpoint="/" feedback="on"', "<style>:root { color-scheme: light dark }</style>")
    ).ask("What is awkward?")
    turn.get_by_role("button", name="Copy link").wait_for()
    for scheme in ("dark", "light"):
        page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
        page.wait_for_timeout(250)
        picture(page, f"awkward-{name.replace(' ', '-')}-{width}-{scheme}")
    assert misplaced(page) == []
    assert "[^" not in turn.inner_text()
    if name == "headings":
        above = "one => one.getBoundingClientRect().top - one.parentNode.getBoundingClientRect().top"
        assert turn.locator(".answer > h4").first.evaluate(above) == 0
    log = widget.panel.locator("[part=log]")
    assert log.evaluate("log => log.scrollWidth <= log.clientWidth")
