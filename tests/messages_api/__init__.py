"""A local server that speaks the wire formats of model providers; see README.md."""

from __future__ import annotations

from messages_api.server import Exchange, MessagesApi, serving

__all__ = ["Exchange", "MessagesApi", "serving"]
