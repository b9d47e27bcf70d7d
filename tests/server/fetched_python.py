"""Runs a test again with the Python packages that scripts/server-tests fetches."""
import os
import pathlib
import sys

SKIPPED = 77  # as tests/server/CMakeLists.txt says


def run_again(folder):
    """Replaces this process by the same test under the Python of `folder`; ends it as skipped where there is none."""
    python = pathlib.Path(folder) / "bin/python"
    if pathlib.Path(sys.prefix) == pathlib.Path(folder) or not python.exists():
        print("skipped: run scripts/server-tests first")
        sys.exit(SKIPPED)
    os.execv(python, [python, *sys.argv])
