"""Error messages of providers: one line with a fix, without the key."""

from __future__ import annotations

from mkdocs_roaming._http import ApiConfig
from mkdocs_roaming.answer.budget import StopAnswer
from mkdocs_roaming.answer.models.refusals import error_for_status

SERVICE = ApiConfig("qwen3", "http://127.0.0.1:9/v1", "sk-secret", "OPENAI_API_KEY", "ROAMING_BASE_URL")


def test_error_for_status_never_contains_key() -> None:
    error = error_for_status(SERVICE, 500, "no sk-secret\n\x1b[31m" + "x" * 500, "not sk-secret")
    assert "sk-secret" not in str(error)
    assert str(error).isprintable()
    assert len(str(error)) < 400


def test_error_for_status_puts_fix_after_long_reason() -> None:
    ended = StopAnswer.from_error(error_for_status(SERVICE, 400, "invalid_request_error", "long " * 100), "qwen3")
    assert ended.error.endswith("; try another model, and report this")


def test_errors_contain_no_invisible_characters() -> None:
    message = "the key \u202e\u200b\U000e0041is wrong\x9b31m"
    error = error_for_status(SERVICE, 401, "authentication_error", message)
    assert "(the key is wrong31m)" in str(error)
    assert StopAnswer.from_error(ValueError(message), "qwen3").error.endswith("the key is wrong31m")
