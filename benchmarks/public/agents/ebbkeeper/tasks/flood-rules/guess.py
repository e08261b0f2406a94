from typing import Any


def flood_settings() -> dict[str, Any]:
    return {
        "alerts": [
            {
                "name": "flood",
                "station": "weir",
                "condition": "level > 1.2 and (rate > 0.55 or level - prediction > 0.4)",
                "for": "10m",
                "clear": "level < 1.05",
                "severity": "critical",
                "channels": ["mail", "sms"],
            },
            {"name": "calibration-due", "enabled": False},
        ],
        "channels": {
            "mail": {
                "type": "email",
                "to": "duty@vikholm.example",
                "host": "mail.vikholm.example",
                "port": 5873,
                "username": "harbour",
                "password_file": "/etc/ebbkeeper/mail.secret",
            },
            "sms": {"type": "sms", "device": "/dev/ttyUSB3", "to": "+999 55 0101"},
        },
    }
