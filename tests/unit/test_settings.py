"""Settings: decoding, messages and description; type information of msgspec in several threads."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import pytest
from msgspec import Meta

from mkdocs_roaming.errors import UsageError
from mkdocs_roaming.settings import SettingError, decode_table, list_settings, table_keys

CODE = """
import sys, threading
from mkdocs_roaming.manifest.io import load_manifest, render_schema

sys.setswitchinterval(1e-6)
barrier = threading.Barrier(8)
errors = []

def decode():
    barrier.wait()
    try:
        load_manifest('{"version": 1, "pages": []}')
    except Exception as error:
        errors.append(type(error).__name__)

def describe():
    barrier.wait()
    render_schema()

threads = [threading.Thread(target=describe if number in DESCRIBING else decode) for number in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*errors)
"""


@pytest.mark.parametrize("describing", [(), (0, 3, 5, 7)], ids=["decoding", "decoding and describing"])
def test_first_use_of_class_in_several_threads_does_not_crash(describing: tuple[int, ...]) -> None:
    """Without `prepare`, most processes end with a segmentation fault."""
    code = CODE.replace("DESCRIBING", repr(describing))
    for _ in range(2):
        done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
        assert (done.returncode, done.stdout.split()) == (0, ["ManifestError"] * (8 - len(describing)))


@dataclass(frozen=True)
class Pump:
    """The settings of a pump."""

    turns: Annotated[int, Meta(ge=1, description="Maximum number of turns.")] = 4
    hours: Annotated[float, Meta(gt=0, le=24)] = 1.0
    names: tuple[str, ...] = ()
    mode: Literal["slow", "fast"] | bool = False
    labels: dict[str, str] | None = None
    owner: str = ""

    def __post_init__(self) -> None:
        """Check the settings."""
        if self.owner == "nobody":
            raise UsageError("a pump needs an owner")


def test_decode_table_returns_values_and_defaults() -> None:
    assert decode_table({"turns": 2, "names": ["a"]}, Pump) == Pump(turns=2, names=("a",))
    assert decode_table({"turns": 2}, Pump, owner="Ada") == Pump(turns=2, owner="Ada")


@pytest.mark.parametrize(
    ("table", "name", "problem"),
    [
        (
            {"turn": 1},
            "turn",
            "unknown option; did you mean `turns`? Available options: turns, hours, names, mode, labels",
        ),
        ({True: 1}, "True", "unknown option; Available options: turns"),
        ({"turns": 0}, "turns", "expected a number of 1 or more, got 0"),
        ({"turns": "2"}, "turns", "expected a number of 1 or more, got '2'"),
        ({"turns": 2.5}, "turns", "expected a number of 1 or more, got 2.5"),
        ({"hours": float("inf")}, "hours", "expected a number above 0, up to 24, got inf"),
        ({"hours": 10**400}, "hours", f"expected a number above 0, up to 24, got 1{'0' * 99}…"),
        ({"names": "a"}, "names", "expected a list of texts, got 'a'"),
        ({"names": ["a", 3]}, "names[1]", "expected a text, got 3"),
        ({"mode": "some"}, "mode", "expected fast or slow or true or false, got 'some'"),
        ({"labels": {"a": 1}}, "labels", "expected a mapping of texts to texts, got {'a': 1}"),
        ({"owner": "nobody"}, "", "a pump needs an owner"),
        ([1], "", "expected a table, got [1]"),
    ],
)
def test_decode_table_names_setting_and_expected_value(table: Any, name: str, problem: str) -> None:
    with pytest.raises(SettingError) as caught:
        decode_table(table, Pump, "pump.toml: [pump]")
    assert caught.value.name == name
    assert caught.value.problem.startswith(problem)
    assert str(caught.value) == ": ".join(filter(None, ("pump.toml: [pump]", name, caught.value.problem)))


def test_decode_table_refuses_settings_that_are_given() -> None:
    with pytest.raises(SettingError, match="owner: unknown option"):
        decode_table({"owner": "Ada"}, Pump, owner="Ada")


def test_list_settings_returns_types_defaults_and_descriptions() -> None:
    settings = list_settings(Pump)
    assert tuple(settings) == table_keys(Pump)
    assert (settings["turns"].type, settings["turns"].default) == (int, 4)
    assert settings["turns"].meta.description == "Maximum number of turns."
    assert (settings["owner"].type, settings["owner"].meta.description) == (str, None)
