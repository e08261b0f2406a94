"""What can go wrong when talking to a harbour."""

from __future__ import annotations


class EbbError(Exception):
    """The base of all errors of the client.

    Attributes:
        code: The code of the server, such as `EBB-2214`, or `EBB-0007` when no server answered.
    """

    code = "EBB-0007"


class GaugeSilentTimeout(EbbError):
    """The server answered, but the gauge did not.

    Raised by a sounding only. Waiting longer seldom helps; the server has already tried as often as
    `gauge.retry_limit` allows.
    """

    code = "EBB-3107"


class PilotTokenExpired(EbbError):
    """The token has lapsed, or was beached. Make a new one."""

    code = "EBB-1309"
