"""A small documentation site, Kettle, with five pages, eleven sections and a question set."""

from __future__ import annotations

from pathlib import Path

KETTLE = Path(__file__).parent / "golden" / "answer" / "kettle.md"

QUESTIONS = """\
questions:
  - ask: Which port is the default?
    sections: [settings#server]
    contains: ['8642']
  - ask: at which temperature does water boil by default
    sections: [settings#boiling]
    contains: ['96.5']
  - ask: how long are old logs kept
    sections: [settings#logs]
    contains: [19 days]
  - ask: whistle needs a sealed lid, WhistleError
    sections: [troubleshooting#it-does-not-whistle]
  - ask: Is there a blue teapot for left-handed sailors?
    answerable: false
"""
