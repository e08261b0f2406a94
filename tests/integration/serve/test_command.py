"""`roaming serve` as a process: start, messages, exit."""

from __future__ import annotations

import json
import re
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import msgspec
import pytest
from click.testing import CliRunner, Result
from serving import load_cases, process

from mkdocs_roaming.answer.budget import Budget, Prices
from mkdocs_roaming.answer.models.openai import OpenAIModel
from mkdocs_roaming.cli import main
from mkdocs_roaming.config import load_settings
from mkdocs_roaming.library.targets import open_library
from mkdocs_roaming.manifest.models import RuleCondition, RuleEntry
from mkdocs_roaming.serve.app import AppConfig, build_config, lacks_money_limit
from mkdocs_roaming.serve.deployments import SiteWatcher
from mkdocs_roaming.serve.quotas import AnswerQuota
from mkdocs_roaming.serve.service import AnswerConfig

SECRETS = {
    "ANTHROPIC_API_KEY": "sk-ant-verysecret",
    "ROAMING_KEY": "0123456789abcdef0123456789abcdef",
    "ROAMING_COUNTERS": "redis://:hunter2@127.0.0.1:6379/0",
}


def roaming(*arguments: object, env: dict[str, str] | None = None) -> Result:
    return CliRunner().invoke(main, ["serve", *map(str, arguments)], env=env or {})


@dataclass
class BlockedModel:
    """A model that waits before its second paragraph; `environment` makes the server use it."""

    environment: dict[str, str]
    go: threading.Event


@pytest.fixture
def blocked_model(folder: Path) -> Iterator[BlockedModel]:
    """Return a blocked model behind the API of a provider."""
    from messages_api import MessagesApi, serving
    from messages_api.parts import Call, Say, Wait

    server = next(place.id for place in open_library(folder).sections if place.section.title == "Server")
    go = threading.Event()

    class Brain:
        def reply(self, view: Any) -> Iterator[Any]:
            if not view.rounds:
                yield Call("expand_sections", {"ids": [server]})
                return
            yield Say(f"Port 8642 [^{server}].\n\nAnd that\nis ")
            while not go.is_set():
                yield Wait(0.02)
            yield Say(f"\n\nAnd that is what the docs have to say\nof it [^{server}].")

    with serving(MessagesApi(Brain(), key="x")) as api:
        yield BlockedModel({"ROAMING_MODEL": "openai:qwen3", "ROAMING_BASE_URL": api.url, "OPENAI_API_KEY": "x"}, go)


def accepts_connections(url: str) -> bool:
    """Return whether a server accepts connections."""
    try:
        return httpx2.get(f"{url}/healthz", timeout=5).is_success
    except httpx2.HTTPError:
        return False


def test_sigterm_finishes_answers_in_progress(
    folder: Path, blocked_model: BlockedModel, wait_until: Callable[..., Any]
) -> None:
    with process(folder, "--whole-site-tokens", "0", env=blocked_model.environment) as (running, url):
        with httpx2.stream("POST", f"{url}/v1/ask", json={"question": "Which port?"}, timeout=20) as response:
            stream = response.iter_bytes()
            body = next(stream)
            while b"8642" not in body:
                body += next(stream)
            running.send_signal(signal.SIGTERM)
            wait_until(lambda: not accepts_connections(url))
            time.sleep(0.5)  # who does not wait for answers breaks them off by now
            blocked_model.go.set()
            body += b"".join(stream)
        assert body.endswith(b"data: [DONE]\n\n")
        assert b"of it [^" in body
        assert running.wait(10) == 0


@pytest.mark.slow
def test_sigterm_ends_answers_with_an_error_after_drain_time(
    folder: Path, tmp_path: Path, blocked_model: BlockedModel, wait_until: Callable[..., Any]
) -> None:
    (tmp_path / "roaming.toml").write_text("[serve]\ndrain = 1\n[limits]\nconcurrent_each = 8\n")
    arguments = (folder, "--whole-site-tokens", "0", "--config", tmp_path / "roaming.toml")
    documents: list[httpx2.Response] = []

    def ask() -> None:
        headers = {"Accept": "application/json"}
        documents.append(httpx2.post(f"{url}/v1/ask", json={"question": "Which one?"}, headers=headers, timeout=20))

    with process(*arguments, env=blocked_model.environment) as (running, url):
        reader = threading.Thread(target=ask)
        reader.start()
        with httpx2.stream("POST", f"{url}/v1/ask", json={"question": "Which port?"}, timeout=20) as response:
            stream = response.iter_bytes()
            body = next(stream)
            while b"8642" not in body:
                body += next(stream)
            running.send_signal(signal.SIGTERM)
            body += b"".join(stream)
        reader.join()
        assert running.wait(10) == 0
        logged = running.stderr.read()
    assert body.endswith(b'{"type":"finish"}\n\ndata: [DONE]\n\n')
    errors = [json.loads(line[6:]) for line in body.decode().splitlines() if line.startswith('data: {"type":"error"')]
    assert [error["errorText"] for error in errors] == ["This service restarts. Please ask again in a moment."]
    assert [(document.status_code, document.json()["code"]) for document in documents] == [(503, "stopping")]
    assert documents[0].headers["retry-after"] == "5"
    assert "answers that got an error: 2" in logged
    assert "Traceback" not in logged


@pytest.mark.slow
def test_sigterm_ends_while_a_client_reads_nothing(folder: Path, tmp_path: Path, blocked_model: BlockedModel) -> None:
    (tmp_path / "roaming.toml").write_text("[serve]\ndrain = 1\n")
    arguments = (folder, "--whole-site-tokens", "0", "--config", tmp_path / "roaming.toml")
    with process(*arguments, env=blocked_model.environment) as (running, url):
        host, port = url.removeprefix("http://").split(":")
        head = (
            b"POST /v1/ask HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 500\r\n\r\n"
        )
        with socket.create_connection((host, int(port))) as silent:
            silent.sendall(head + b'{"question"')  # and never the rest
            time.sleep(0.3)
            running.send_signal(signal.SIGTERM)
            assert running.wait(10) == 0
        assert "Traceback" not in running.stderr.read()


def test_signal_exits_at_once_without_answers(folder: Path) -> None:
    with process(folder) as (running, url):
        assert httpx2.get(f"{url}/ask", params={"q": "Which port is the default?"}).status_code == 200
        running.send_signal(signal.SIGINT)
        assert running.wait(15) == 0
        assert "Traceback" not in running.stderr.read()


@pytest.mark.slow
def test_signal_exits_at_once_while_site_hangs() -> None:
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        command = [sys.executable, "-m", "mkdocs_roaming", "serve", f"http://127.0.0.1:{silent.getsockname()[1]}/"]
        with subprocess.Popen([*command, "--port", "0"], stderr=subprocess.PIPE, text=True) as running:
            try:
                assert running.stderr is not None
                assert "listening on" in running.stderr.readline()
                silent.settimeout(10)
                connection, _ = silent.accept()
                running.send_signal(signal.SIGTERM)
                assert running.wait(15) == 0
                connection.close()
            finally:
                running.kill()


@pytest.mark.parametrize(("options", "expected"), load_cases("lines at the start"))
def test_start_is_logged_in_one_line(folder: Path, tmp_path: Path, options: tuple[str, ...], expected: str) -> None:
    (tmp_path / "replies.json").write_text("[]")
    (tmp_path / "roaming.toml").write_text(
        '[prices]\ninput = 1.0\noutput = 5.0\ncurrency = "EUR"\n[budget]\nwhole_site_tokens = 0\ncost = 0.05\n'
        '[limits]\nmoney_a_day = 2.0\nmoney_a_day_each = 0.5\n[serve]\nmetrics = "off"\n'
    )
    with process(folder, *options, cwd=tmp_path) as (running, url):
        line = running.stderr.readline()
        running.send_signal(signal.SIGTERM)
        assert not running.stderr.read()
    assert f"serving Docs (10 sections) at {url}; " in line
    assert re.search(expected, line)


# --check


@pytest.mark.parametrize(("key", "code", "expected"), load_cases("checks of a key"))
def test_check_validates_key_of_model(
    folder: Path, blocked_model: BlockedModel, key: str, code: int, expected: str
) -> None:
    blocked_model.go.set()
    result = roaming(folder, "--check", env={**blocked_model.environment, "OPENAI_API_KEY": key})
    assert result.exit_code == code, result.output
    assert re.search(f"(?m)^{expected}", result.stdout)
    assert "ok      site: Docs, 10 sections\n" in result.stdout
    assert ("roaming: the endpoint cannot work: model\n" in result.stderr) is bool(code)


def test_check_reports_site_counters_and_price(folder: Path, tmp_path: Path, free_port: int) -> None:
    (tmp_path / "replies.json").write_text(
        '[[{"text": "The docs do not say this."}], [{"text": "The docs do not say this."}]]'
    )
    (tmp_path / "roaming.toml").write_text("[prices]\ninput = 1.0\noutput = 5.0\n")
    options = ("--check", "--config", tmp_path / "roaming.toml", "--model", f"scripted:{tmp_path / 'replies.json'}")
    result = roaming(folder, *options)
    assert result.exit_code == 0, result.output
    assert re.search(r"ok      price of a question: up to 0\.\d+ USD\n", result.stdout)
    environment = {**SECRETS, "ROAMING_COUNTERS": f"redis://:hunter2@127.0.0.1:{free_port}/0"}
    result = roaming(f"http://127.0.0.1:{free_port}/", "--check", "--model", "offline", env=environment)
    assert result.exit_code == 1
    assert result.stderr.endswith("roaming: the endpoint cannot work: site, counters\n")
    assert "failed  counters: Redis cannot be reached" in result.stdout
    assert "hunter2" not in result.output


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere 127.0.0.2 is no address of the machine")
def test_unknown_host_of_all_addresses_is_logged_with_setting(folder: Path) -> None:
    with process(folder, "--host", "0.0.0.0") as (running, url):
        port = url.rsplit(":", 1)[1]
        for _ in range(2):
            assert httpx2.get(f"http://127.0.0.2:{port}/v1/outline").status_code == 421
        running.send_signal(signal.SIGTERM)
        logged = [line for line in running.stderr.read().splitlines() if "refused Host" in line]
    assert len(logged) == 1
    assert "--allow-host 127.0.0.2" in logged[0]


def test_slow_headers_return_408(folder: Path, tmp_path: Path, free_port: int) -> None:
    """Of the first request of a connection, and of the next one, also if a byte arrives at times."""
    place = f"127.0.0.1:{free_port}"
    (tmp_path / "roaming.toml").write_text(f'[limits]\nheader_seconds = 0.3\n[serve]\nmetrics = "{place}"\n')
    with process(folder, "--config", tmp_path / "roaming.toml") as (_, url):
        where = ("127.0.0.1", int(url.rsplit(":", 1)[1]))
        with socket.create_connection(where, timeout=20) as line, socket.create_connection(where, timeout=20) as silent:
            line.sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
            reply = b""
            while not reply.endswith(b"}"):  # head and body may come apart
                reply += line.recv(65_536)
            reply, silence = b"", silent.recv(65_536)
            line.settimeout(0.05)
            line.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: ")
            while b"}" not in reply:
                with suppress(TimeoutError, BrokenPipeError):
                    line.sendall(b"x")
                    reply += line.recv(65_536)
        for answer in (reply, silence):
            assert answer.startswith(b"HTTP/1.1 408 ")
            assert json.loads(answer.partition(b"\r\n\r\n")[2])["code"] == "slow"
        assert 'roaming_refused_total{code="slow",status="408"} 2.0' in httpx2.get(f"http://{place}/metrics").text


def configure(folder: Path, text: str, *, trust_rules: bool = False) -> AppConfig:
    """Return the configuration from a settings file."""
    file = folder / "roaming.toml"
    file.write_text(text)
    settings = load_settings(file)
    answers = AnswerConfig(*settings.create_model(None, None, {"ANTHROPIC_API_KEY": "sk-ant-x"}))
    given = {"proxies": None, "metrics": None, "money_a_day": None, "site": None, "trust_rules": trust_rules}
    return build_config(str(folder), answers, settings, {}, {**given, "hosts": (), "origins": ()}, host="127.0.0.1")


@pytest.mark.parametrize(
    ("option", "settings", "trusted"),
    [
        (False, "", False),
        (True, "", True),
        (False, "trust_rules = true", True),
        (False, "trust_rules = false", False),
    ],
)
def test_rules_of_remote_site_need_trust(
    make_site: Callable[..., Any],
    pages: list[tuple[str, str]],
    host: Any,
    files_of: Any,
    tmp_path: Path,
    start: Callable[..., Any],
    option: bool,
    settings: str,
    trusted: bool,
) -> None:
    made = make_site(pages)
    places = {place.section.title: place.id for place in made.library().sections}
    rules = (RuleEntry(RuleCondition(any=("murmur",)), (places["Server"],)),)
    folder = replace(made, manifest=msgspec.structs.replace(made.manifest, rules=rules)).publish(tmp_path / "ruled")
    config = configure(tmp_path, f"[serve]\n{settings}\n", trust_rules=option)
    with host(files_of(folder)) as site:
        answer = start(site.url, trust_rules=config.serve.trust_rules).http.post(
            "/v1/ask", json={"question": "murmur?"}, headers={"Accept": "application/json"}
        )
    assert (places["Server"] in [section["id"] for section in answer.json()["trail"]]) is trusted


@pytest.mark.parametrize(("settings", "expected"), load_cases("invalid settings"))
def test_invalid_setting_is_reported_in_one_line(folder: Path, tmp_path: Path, settings: str, expected: str) -> None:
    (tmp_path / "roaming.toml").write_text(settings)
    model = ("--model", "openai:x", "--base-url", "http://127.0.0.1:9/v1") if "money" in settings else ()
    result = roaming(folder, "--check", "--config", tmp_path / "roaming.toml", *model)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert expected in result.stderr


CLAUDE = '[limits]\nmoney_a_day = 5.0\n[model]\nname = "claude"\n'


@pytest.mark.parametrize(
    ("model", "settings", "expected"),
    load_cases("models without a limit of money"),
    ids=["known-prices", "unknown-prices", "prices"],
)
def test_hosted_model_without_money_limit_is_refused_with_cost_of_question(
    folder: Path, tmp_path: Path, model: str, settings: str, expected: str
) -> None:
    (tmp_path / "roaming.toml").write_text(settings)
    options = ("--model", model, "--whole-site-tokens", "0", "--config", tmp_path / "roaming.toml")
    result = roaming(folder, *options, "--port", "0", env={"ANTHROPIC_API_KEY": "sk-ant-x"})
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert re.search(rf"a question costs {expected}", result.stderr)


def test_money_a_day_is_enough_for_a_model_with_known_prices(tmp_path: Path) -> None:
    config = configure(tmp_path, CLAUDE)
    assert (config.quota.money_a_day, config.quota.money_a_day_each) == (5.0, 0.5)
    assert 0.001 < (config.answers.budget.cost or 0) < 0.1
    dear = configure(tmp_path, f"{CLAUDE}[prices]\ninput = 100.0\noutput = 500.0\n")
    assert dear.answers.budget.cost == 5.0  # the prices of the file apply, and an answer never costs more than a day


def test_folder_without_manifest_is_refused_at_start(tmp_path: Path) -> None:
    result = roaming(tmp_path)
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "no roaming/manifest.json in this folder; build the site first" in result.stderr


@pytest.mark.parametrize("amount", ["five", "0", "nan"])
def test_invalid_money_a_day_is_reported_in_one_line(folder: Path, amount: str) -> None:
    result = roaming(folder, "--model", "claude", "--money-a-day", amount, env={"ANTHROPIC_API_KEY": "sk-ant-x"})
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert "--money-a-day: money_a_day: expected a number above 0 or unlimited" in result.stderr


def test_check_fails_if_a_question_may_cost_more_than_the_money_of_a_day(folder: Path) -> None:
    result = roaming(folder, "--check", "--model", "claude", "--money-a-day", "0.0001")
    assert "USD, with the prices of 20" in result.stdout
    assert ", which may be more than all the money of a day; raise it\n" in result.stdout
    assert result.stderr == "roaming: the endpoint cannot work: model, price of a question\n"


def test_check_without_key_checks_the_rest(folder: Path) -> None:
    result = roaming(folder, "--check", "--model", "claude", "--money-a-day", "5")
    lines = result.stdout.splitlines()
    assert result.exit_code == 1
    assert [line.split(":")[0].split() for line in lines] == [
        ["ok", "configuration"],
        ["ok", "site"],
        ["failed", "model"],
        ["ok", "price", "of", "a", "question"],
        ["ok", "limits"],
        ["ok", "names"],
    ]
    assert "set ANTHROPIC_API_KEY" in lines[2]
    assert result.stderr == "roaming: the endpoint cannot work: model\n"


def test_free_prices_and_unlimited_money_need_no_limit(folder: Path) -> None:
    config = AppConfig(str(folder), AnswerConfig(OpenAIModel("m", base_url="https://api.example/v1"), Budget()))
    assert lacks_money_limit(config)
    free = Budget(prices=Prices())
    assert not lacks_money_limit(replace(config, answers=replace(config.answers, budget=free)))
    assert not lacks_money_limit(replace(config, quota=AnswerQuota(money_a_day="unlimited")))


@pytest.mark.parametrize(("url", "hosted"), load_cases("addresses of models"))
def test_server_of_own_network_is_not_hosted(url: str, hosted: bool) -> None:
    assert OpenAIModel("m", base_url=url).is_hosted is hosted


def test_missing_folder_is_reported_at_once() -> None:
    result = roaming("nowhere")
    assert result.exit_code == 1
    assert result.stderr == "roaming: nowhere: no such folder or file; check the path; a URL starts with https://\n"
    assert roaming("ftp://x.example/").exit_code == 1


@pytest.mark.parametrize(("counters", "expected"), load_cases("invalid addresses of counters"))
def test_invalid_counters_url_is_reported_without_password(folder: Path, counters: str, expected: str) -> None:
    result = roaming(folder, "--check", env={**SECRETS, "ROAMING_COUNTERS": counters})
    assert (result.exit_code, result.stderr.count("\n")) == (1, 1)
    assert expected in result.stderr
    assert "hunter2" not in result.output


def test_invalid_url_is_reported_in_one_line(folder: Path) -> None:
    for arguments in (("http://user:hunter2@[::1",), (folder, "--allow-origin", "http://[::1")):
        result = roaming(*arguments, "--check")
        assert (result.exit_code, result.stderr.count("\n")) == (1, 1), result.output
        assert "hunter2" not in result.output


def test_password_of_site_is_not_logged(free_port: int, caplog: pytest.LogCaptureFixture) -> None:
    anyio.run(SiteWatcher(f"http://user:hunter2@127.0.0.1:{free_port}/").check)
    assert "cannot be fetched" in caplog.text
    assert "hunter2" not in caplog.text


def test_short_key_is_refused(folder: Path) -> None:
    result = roaming(folder, "--check", env={"ROAMING_KEY": "short"})
    assert (result.exit_code, "openssl rand -hex 32" in result.stderr) == (1, True)


@pytest.mark.parametrize(
    ("command", "module", "install"),
    [
        ("serve", "httptools", "pip install 'mkdocs-roaming[serve]'"),
        ("serve", "mcp_types", "roaming: MCP needs the package mcp: pip install 'mkdocs-roaming[mcp]'"),
        ("mcp", "mcp", "roaming: MCP needs the package mcp: pip install 'mkdocs-roaming[mcp]'"),
    ],
)
def test_missing_package_is_reported_in_one_line(folder: Path, command: str, module: str, install: str) -> None:
    code = f"import sys; sys.modules['{module}'] = None; from mkdocs_roaming.cli import main; main()"
    arguments = [sys.executable, "-c", code, command, str(folder)]
    arguments += ["--port", "0"] if command == "serve" else []
    result = subprocess.run(arguments, capture_output=True, text=True, check=False, timeout=20)
    assert (result.returncode, result.stderr.count("\n")) == (1, 1), result.stderr
    assert install in result.stderr


def test_mcp_is_imported_with_first_request(folder: Path) -> None:
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}}
    with process(folder) as (running, url):
        assert httpx2.get(f"{url}/ask", params={"q": "Which port is the default?"}).status_code == 200
        loaded = Path(f"/proc/{running.pid}/maps")
        assert "pydantic_core" not in loaded.read_text()
        result = [httpx2.post(f"{url}/mcp", json=call, headers={"Accept": "application/json"}) for _ in range(2)]
        assert "pydantic_core" in loaded.read_text()
    assert [answer.status_code for answer in result] == [200, 200]
    assert result[0].json() == result[1].json()
    assert "search_sections" in result[0].text


def test_command_needs_only_url_of_site(folder: Path, host: Any, files_of: Any, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    with host(files_of(folder)) as site, process(site.url, cwd=tmp_path / "empty") as (_, url):
        result = httpx2.post(
            f"{url}/v1/ask",
            json={"question": "Which port is the default?"},
            headers={"Accept": "application/json"},
        ).json()
        assert "8642" in result["answer"]
