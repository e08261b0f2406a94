"""What happened, counted, in Prometheus' text format. Labels hold no addresses and no words of readers."""

from __future__ import annotations

import threading
from bisect import bisect_left
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 45.0, 60.0)

Labels = tuple[tuple[str, str], ...]


@dataclass(slots=True)
class _Family:
    kind: Literal["counter", "gauge", "histogram"]
    help: str
    values: dict[Labels, float] = field(default_factory=dict)
    spread: dict[Labels, list[int]] = field(default_factory=dict)


class Metrics:
    """Counters, gauges and histograms by name and labels; names are given beforehand. Safe from several threads."""

    def __init__(self, counters: Mapping[str, str], gauges: Mapping[str, str], histograms: Mapping[str, str]) -> None:
        self._lock = threading.Lock()
        self._families = {
            **{name: _Family("counter", said) for name, said in counters.items()},
            **{name: _Family("gauge", said) for name, said in gauges.items()},
            **{name: _Family("histogram", said) for name, said in histograms.items()},
        }

    def add(self, name: str, amount: float = 1, **labels: str) -> None:
        """Add to a counter."""
        family, key = self._families[name], tuple(labels.items())
        with self._lock:
            family.values[key] = family.values.get(key, 0) + amount

    def set(self, name: str, value: float, **labels: str) -> None:
        """Set a gauge, or a counter that is kept elsewhere; other labels of it are forgotten."""
        with self._lock:
            self._families[name].values = {tuple(labels.items()): value}

    def observe(self, name: str, seconds: float, **labels: str) -> None:
        """Add to a histogram of seconds."""
        family, key = self._families[name], tuple(labels.items())
        with self._lock:
            spread = family.spread.setdefault(key, [0] * (len(SECONDS) + 1))
            spread[bisect_left(SECONDS, seconds)] += 1
            family.values[key] = family.values.get(key, 0) + seconds

    def text(self) -> str:
        """Give everything as Prometheus reads it."""
        with self._lock:
            return "".join(_family(name, family) for name, family in self._families.items())


def _family(name: str, family: _Family) -> str:
    lines = [f"# HELP {name} {family.help}", f"# TYPE {name} {family.kind}"]
    for labels, value in family.values.items():
        if family.kind != "histogram":
            lines.append(f"{name}{_labels(labels)} {_number(value)}")
            continue
        total = 0
        for edge, count in zip((*map(str, SECONDS), "+Inf"), family.spread[labels], strict=True):
            total += count
            lines.append(f"{name}_bucket{_labels((*labels, ('le', edge)))} {total}")
        lines += [f"{name}_sum{_labels(labels)} {_number(value)}", f"{name}_count{_labels(labels)} {total}"]
    return "\n".join(lines) + "\n"


def _labels(labels: Labels) -> str:
    told = ",".join(f'{name}="{_escaped(value)}"' for name, value in labels)
    return f"{{{told}}}" if told else ""


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")


def _number(value: float) -> str:
    return str(int(value)) if float(value).is_integer() else repr(float(value))
