"""What readers are told of a provider that fails: one line, the cure at its end, and never a key."""

from __future__ import annotations

from mkdocs_roaming._http import ApiConfig
from mkdocs_roaming.answer.loop import stop_from_error
from mkdocs_roaming.answer.models.retry import error_for_status

SERVICE = ApiConfig("qwen3", "http://127.0.0.1:9/v1", "sk-secret", "OPENAI_API_KEY", "ROAMING_BASE_URL")


def test_a_provider_cannot_make_us_tell_the_key() -> None:
    """Neither as its message nor as the kind of its error, which is cut like one."""
    error = error_for_status(SERVICE, 500, "no sk-secret\n\x1b[31m" + "x" * 500, "not sk-secret")
    assert "sk-secret" not in str(error)
    assert str(error).isprintable()
    assert len(str(error)) < 400


def test_the_cure_is_told_behind_a_long_reason() -> None:
    """The provider's words are cut, ours are not."""
    ended = stop_from_error(error_for_status(SERVICE, 400, "invalid_request_error", "long " * 100), "qwen3")
    assert ended.error.endswith("; try another model, and report this")
