"""Run the server: `cd tests && python -m messages_api --brain navigator --port 8123`."""

from __future__ import annotations

import argparse
import time

from messages_api import MessagesApi, serving
from messages_api.adversary import BEHAVIOURS, Adversary
from messages_api.navigator import Navigator

parser = argparse.ArgumentParser(prog="messages_api", description="A local stand-in for a model provider.")
parser.add_argument("--brain", default="navigator", help=f"navigator, or one of: {', '.join(BEHAVIOURS)}")
parser.add_argument("--port", type=int, default=8123)
parser.add_argument("--key", default="x", help="the key that requests must have")
given = parser.parse_args()
brain = Navigator() if given.brain == "navigator" else Adversary(given.brain)
with serving(MessagesApi(brain, key=given.key), given.port) as api:
    print(f"{api.url}/v1/messages and {api.url}/v1/chat/completions, Ctrl+C to stop")
    printed = 0
    while True:
        time.sleep(0.2)
        for exchange in api.exchanges[printed:]:
            if exchange.ended:
                printed += 1
                print(exchange.path, exchange.status, dict(exchange.usage), *api.take_faults())
