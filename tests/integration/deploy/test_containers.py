"""The steps of the image, run without Docker.

Packages are taken from this environment; nothing is downloaded.
"""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from .conftest import free_port

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"


def instructions() -> Iterator[tuple[str, str]]:
    """Return the instructions of the Dockerfile, with continuation lines joined."""
    text = re.sub(r"\\\n", " ", (DEPLOY / "Dockerfile").read_text("utf-8"))
    for line in text.splitlines():
        if line and not line.startswith("#"):
            word, _, rest = line.partition(" ")
            yield word, rest.strip()


def test_image_steps_build_healthy_endpoint(tmp_path: Path, sample: Path) -> None:
    source, venv = tmp_path / "src", tmp_path / "opt"
    source.mkdir()
    here = {**os.environ, "PYTHONPATH": sysconfig.get_path("purelib"), "PIP_NO_INDEX": "1", "PIP_NO_DEPS": "1"}
    here |= {"PIP_NO_BUILD_ISOLATION": "0", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    entry: list[str] = []
    check: list[str] = []
    for word, rest in instructions():
        if word == "COPY" and "--from" not in rest:
            *names, target = rest.split()
            for name in names:
                _copy(ROOT / name, source / (name if target == "./" else target))
        elif word == "RUN" and "venv" in rest:
            step = rest.replace("/opt/roaming", str(venv))
            done = subprocess.run(["sh", "-c", step], cwd=source, env=here, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stderr
        elif word == "ENV":
            result = dict(pair.split("=", 1) for pair in shlex.split(rest))
            here |= {
                name: value.replace("/opt/roaming", str(venv)).replace("$PATH", here["PATH"])
                for name, value in result.items()
            }
        elif word == "ENTRYPOINT":
            entry = _words(rest)
        elif word == "HEALTHCHECK":
            check = _words(rest.partition("CMD")[2])
    assert here["ROAMING_HOST"] == "0.0.0.0"
    here |= {"ROAMING_HOST": "127.0.0.1", "ROAMING_PORT": str(free_port())}
    installed = subprocess.run(
        [str(venv / "bin/python"), "-c", "import mkdocs_roaming as m; print(m.__file__)"],
        cwd=tmp_path,
        env=here,
        capture_output=True,
        text=True,
        check=True,
    )
    assert installed.stdout.startswith(str(venv))
    assert _health(check, here, tmp_path) == 1
    entry[0] = str(venv / "bin" / entry[0])
    with subprocess.Popen([*entry, str(sample)], cwd=tmp_path, env=here, stderr=subprocess.DEVNULL) as process:
        try:
            end = time.monotonic() + 30
            while (status := _health(check, here, tmp_path)) and time.monotonic() < end:
                assert process.poll() is None
                time.sleep(0.2)
            assert status == 0
        finally:
            process.terminate()
    assert process.returncode == 0


def _copy(there: Path, here: Path) -> None:
    if there.is_dir():
        shutil.copytree(there, here, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(there, here)


def _words(text: str) -> list[str]:
    words: list[str] = json.loads(text)
    return words


def _health(check: list[str], environment: dict[str, str], folder: Path) -> int:
    return subprocess.run(check, env=environment, cwd=folder, capture_output=True, check=False).returncode
