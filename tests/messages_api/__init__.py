"""A local server with the APIs of model providers; see README.md."""

from __future__ import annotations

from messages_api.server import Exchange, MessagesApi, serving

__all__ = ["Exchange", "MessagesApi", "serving"]
