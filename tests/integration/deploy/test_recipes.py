"""The recipes in deploy/ use supported settings and are as restrictive as they claim."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from click.testing import CliRunner

from mkdocs_roaming.cli import main
from mkdocs_roaming.serve.app import LIMIT_KEYS
from mkdocs_roaming.serve.log import redact
from mkdocs_roaming.serve.middleware import RequestPolicy
from mkdocs_roaming.serve.quotas import AnswerQuota
from mkdocs_roaming.serve.requests import ProblemError, encode_problem

ROOT = Path(__file__).parents[3]
DEPLOY = ROOT / "deploy"
SYSTEMD = shutil.which("systemd-analyze")
SUPPORTED = {
    "ROAMING_CONFIG",
    "ROAMING_HOST",
    "ROAMING_PORT",
    "ROAMING_HOSTS",
    "ROAMING_KEY",
    "ROAMING_COUNTERS",
    "ROAMING_METRICS",
    "ANTHROPIC_API_KEY",
}


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((DEPLOY / "compose.yml").read_text("utf-8"))
    return loaded


def check(folder: Path, environment: dict[str, str], config: Path = DEPLOY / "roaming.toml") -> str:
    """Return the output of `--check`, without a key of the model, for an environment and a settings file."""
    (folder / "site.md").write_text("# Site\n")
    for name in [name for name in os.environ if name.startswith("ROAMING_")]:
        environment.setdefault(name, "")
    arguments = ["serve", str(folder / "site.md"), "--config", str(config), "--check"]
    result = CliRunner().invoke(main, arguments, env=environment)
    assert "ok      configuration: " in result.output
    return result.output


def test_settings_file_is_valid_with_all_commented_lines(tmp_path: Path) -> None:
    assert "ok      names: hosts localhost, 127.0.0.1, [::1], ask.example" in check(tmp_path, {})
    text = (DEPLOY / "roaming.toml").read_text("utf-8")
    (tmp_path / "all.toml").write_text(re.sub(r"(?m)^# (?=\[|\w+ = )", "", text))
    assert "ok      limits: " in check(tmp_path, {}, tmp_path / "all.toml")


def test_compose_environment_is_supported(compose: dict[str, Any], tmp_path: Path) -> None:
    environment = compose["services"]["roaming"]["environment"]
    assert set(environment) <= SUPPORTED
    values = {
        "ROAMING_HOSTS": "docs-ask.example",
        "ROAMING_KEY": "k" * 32,
        "ROAMING_COUNTERS": "redis://:hunter2@redis:6379/0",
    }
    output = check(tmp_path, values)
    assert "docs-ask.example" in output
    assert "failed  counters: Redis cannot be reached" in output
    assert "hunter2" not in output


def test_compose_publishes_only_ports_of_proxy(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert [name for name, service in services.items() if "ports" in service] == ["caddy"]
    assert services["caddy"]["ports"] == ["80:80", "443:443"]
    assert compose["networks"]["counters"]["internal"] is True
    assert services["redis"]["networks"] == ["counters"]
    command = " ".join(services["redis"]["command"])
    for word in ("--requirepass", "--appendonly yes", "noeviction"):
        assert word in command
    assert services["roaming"]["deploy"]["replicas"] >= 2
    assert services["roaming"]["read_only"] is True
    assert services["roaming"]["cap_drop"] == ["ALL"]


def test_compose_secrets_have_no_defaults(compose: dict[str, Any]) -> None:
    text = (DEPLOY / "compose.yml").read_text("utf-8")
    example = (DEPLOY / "roaming.env.example").read_text("utf-8")
    for name in ("ROAMING_KEY", "REDIS_PASSWORD", "ROAMING_NAME", "ROAMING_SITE"):
        assert set(re.findall(rf"\$\{{{name}(.)", text)) == {":"}
        assert set(re.findall(rf"\$\{{{name}:(.)", text)) == {"?"}
        assert f"\n{name}=" in example
    assert re.findall(r"(?m)^(?:ROAMING_KEY|ANTHROPIC_API_KEY|REDIS_PASSWORD)=(.*)$", example) == ["", "", ""]


def test_image_has_one_base_and_unprivileged_user() -> None:
    text = (DEPLOY / "Dockerfile").read_text("utf-8")
    steps = re.findall(r"(?m)^([A-Z]+) (.*)$", text)
    assert {rest.split()[0] for step, rest in steps if step == "FROM"} == {"${BASE}"}
    assert re.search(r"(?m)^ARG BASE=python:3\.12-slim@sha256:[0-9a-f]{64}$", text)
    assert [rest for step, rest in steps if step == "USER"] == ["10001:10001"]
    assert any(step == "HEALTHCHECK" for step, _ in steps)
    assert "/healthz" in text
    sources = [word for step, rest in steps if step == "COPY" and "--from" not in rest for word in rest.split()[:-1]]
    allowed = (DEPLOY / "Dockerfile.dockerignore").read_text("utf-8").splitlines()
    for source in sources:
        assert (ROOT / source).exists()
        assert f"!{source}" in allowed
    extras = re.search(r'"\.\[(.*?)\]"', text)
    assert extras is not None
    known = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]["optional-dependencies"]
    assert set(extras[1].split(",")) <= set(known)


@pytest.mark.skipif(SYSTEMD is None, reason="needs systemd-analyze")
def test_systemd_unit_is_valid_and_hardened(tmp_path: Path) -> None:
    unit = tmp_path / "roaming.service"
    unit.write_text((DEPLOY / "roaming.service").read_text("utf-8").replace("/opt/roaming/bin/roaming", sys.executable))
    verified = subprocess.run([str(SYSTEMD), "verify", str(unit)], capture_output=True, text=True, check=False)
    assert (verified.returncode, verified.stderr) == (0, "")
    command = [str(SYSTEMD), "security", "--offline=true", "--threshold=20", str(unit)]
    rated = subprocess.run(command, capture_output=True, text=True, check=False)
    assert rated.returncode == 0, rated.stdout


def test_unit_and_compose_allow_two_files_for_each_connection(compose: dict[str, Any]) -> None:
    needed = 2 * RequestPolicy().connections
    (allowed,) = re.findall(r"(?m)^LimitNOFILE=(\d+)$", (DEPLOY / "roaming.service").read_text("utf-8"))
    assert int(allowed) == compose["services"]["roaming"]["ulimits"]["nofile"] == needed


def test_nginx_forwards_largest_body_from_memory() -> None:
    recipe = (DEPLOY / "nginx.conf").read_text("utf-8")
    for name in ("client_max_body_size", "client_body_buffer_size"):
        (megabytes,) = re.findall(rf"{name} (\d+)m;", recipe)
        assert int(megabytes) * 1024**2 > RequestPolicy().body_bytes


def test_docs_list_every_limit_with_default() -> None:
    text = (ROOT / "docs/guides/serve.md").read_text("utf-8")
    table = text.split("## Limits")[1].split("A visitor is")[0]
    shown: dict[str, str] = {}
    for names, values in re.findall(r"(?m)^\| (`[^|]*) \| ([^|]*) \|", table):
        keys = re.findall(r"`(\w+)`", names)
        found = [value.strip() for value in values.split(",")]
        shown |= dict(zip(keys, found * (len(keys) if len(found) == 1 else 1), strict=False))
    limits = {**asdict(AnswerQuota()), **asdict(RequestPolicy())}
    own = {name: "none" if limits[name] is None else f"{limits[name]:g}" for name in LIMIT_KEYS}
    assert {name: value if value == "none" else f"{float(value):g}" for name, value in shown.items()} == own
    for code in ("busy", "rate", "money", "counters", "host", "origin", "size", "slow", "malformed"):
        assert f"`{code}`" in text
    refused = ProblemError("rate", "Too many questions in a minute.", retry_after=19)
    assert encode_problem(refused)[1].decode() in text
    assert redact("why is token=abc123 refused by https://me:pw@db.example for jane@boat.example") in text
