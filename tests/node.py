"""Modules of the widget in Node, without a browser."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

WIDGET = Path(__file__).parents[1] / "mkdocs_roaming" / "widget"
# The least that modules need of a browser when they are loaded.
BROWSER = """
globalThis.HTMLElement = class {};
globalThis.customElements = { define() {}, get() {} };
globalThis.document = { readyState: "loading", querySelector() {} };
globalThis.navigator ??= { platform: "" };
globalThis.addEventListener = () => {};
globalThis.matchMedia = () => ({ addEventListener() {} });
globalThis.ResizeObserver = class {};
"""


def run_in_node(function: str, *arguments: Any) -> Any:
    """Return the result of a JavaScript function, which gets `load`, to import a module of the widget, and arguments."""
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node")
    script = f"""{BROWSER}
import {{ readFileSync }} from "node:fs";
const load = (name) => import(`{WIDGET.as_uri()}/roaming-${{name}}.js`);
const result = await ({function})(load, ...JSON.parse(readFileSync(0)));
process.stdout.write(JSON.stringify(result));
"""
    command = [node, "--input-type=module", "--eval", script]
    done = subprocess.run(command, input=json.dumps(arguments), capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)
