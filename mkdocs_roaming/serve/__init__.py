"""Answers over the wire: HTTP, server-sent events, MCP."""
