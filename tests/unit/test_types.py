"""Type information of msgspec in several threads."""

from __future__ import annotations

import subprocess
import sys

import pytest

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
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True, text=True)
        assert (done.returncode, done.stdout.split()) == (0, ["ManifestError"] * (8 - len(describing)))
