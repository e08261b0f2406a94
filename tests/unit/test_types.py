"""Decoding into classes from several threads."""

from __future__ import annotations

import subprocess
import sys

CODE = """
import sys, threading
from mkdocs_roaming.manifest.io import load_manifest
from mkdocs_roaming.manifest.models import Manifest

sys.setswitchinterval(1e-6)
barrier = threading.Barrier(8)
errors = []

def decode():
    barrier.wait()
    try:
        load_manifest('{"version": 1, "pages": []}')
    except Exception as error:
        errors.append(type(error).__name__)

threads = [threading.Thread(target=decode) for _ in range(8)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
print(*errors)
"""


def test_first_decoding_in_several_threads_does_not_crash() -> None:
    """Without `prepare`, eight of nine processes end with a segmentation fault."""
    for _ in range(4):
        done = subprocess.run([sys.executable, "-c", CODE], check=False, capture_output=True, text=True)
        assert (done.returncode, done.stdout.split()) == (0, ["ManifestError"] * 8)
