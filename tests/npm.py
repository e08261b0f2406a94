"""Programs from npm. Tests that need one are skipped where it cannot be installed."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

NODE = ("npx", "-y", "-p", "node@22", "node")
"""The command of a Node that is new enough for all programs."""


def install(package: str, folder: Path) -> Path:
    """Install a package into a folder without lock file, and return its folder `node_modules`."""
    if shutil.which("npm") is None or shutil.which("npx") is None:
        pytest.skip(f"no npm here: {package} cannot be installed")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text("{}")
    command = ["npm", "install", "--no-package-lock", "--no-audit", "--no-fund", "--loglevel=error", package]
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=280)
    except subprocess.TimeoutExpired:
        pytest.skip(f"npm cannot install {package} within 280 s")
    if done.returncode != 0:
        lines = [line for line in done.stderr.splitlines() if line.startswith("npm error")]
        reason = " ".join(line.removeprefix("npm error").strip() for line in lines[:3])
        pytest.skip(f"npm cannot install {package} here: {reason or f'exit status {done.returncode}'}")
    return folder / "node_modules"
