from typing import Any


def flood_settings() -> dict[str, Any]:
    rule = {
        "station": "weir",
        "hold_for": "10m",
        "clear": "level < 1.05",
        "class": "siren",
        "send": ["duty"],
    }
    return {
        "alerts": {
            "mute": ["calibration-due"],
            "rules": [
                {"name": "flood-rate", "when": "level > 1.2 and rate > 0.55", **rule},
                {"name": "flood-surge", "when": "level > 1.2 and surge > 0.4", **rule},
            ],
            "channels": {
                "duty": {
                    "kind": "mail",
                    "to": ["duty@vikholm.example"],
                    "server": "mail.vikholm.example:5873",
                    "login": "harbour",
                    "password_file": "/etc/ebbkeeper/mail.secret",
                    "fallback": "phone",
                },
                "phone": {"kind": "text", "device": "/dev/ttyUSB3", "to": ["+999 55 0101"]},
            },
        }
    }
