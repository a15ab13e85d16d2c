# Copyright (c) the mlo authors. BSD-3-Clause.
"""What the tests of the package share."""
import importlib
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
COMMAND = os.environ.get("MLO_COMMAND", "")
SOURCE = os.environ.get("MLO_SOURCE", os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))
BUILD = os.environ.get("MLO_BUILD", "")
SANITIZED = os.environ.get("MLO_SANITIZED") == "1"


def needs(module):
    """The module, or a skipped test; with MLO_REQUIRE_ALL=1 a failure."""
    try:
        return importlib.import_module(module)
    except ImportError:
        if os.environ.get("MLO_REQUIRE_ALL") == "1":
            raise
        raise unittest.SkipTest(f"{module} is not installed") from None


def absent(tool):
    if os.environ.get("MLO_REQUIRE_ALL") == "1":
        raise AssertionError(f"{tool} is not installed")
    raise unittest.SkipTest(f"{tool} is not installed")


class PlaceTest(unittest.TestCase):
    """Each test has its own directory."""

    maxDiff = None

    def setUp(self):
        self.place = tempfile.mkdtemp(prefix="mlo-python-")
        self.addCleanup(shutil.rmtree, self.place)

    def path(self, *names):
        return os.path.join(self.place, *names)

    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as file:
            file.write(text)
        return self.path(name)

    def command(self, *arguments):
        """Runs the command mlo, as the tests of the command line do."""
        environment = {k: v for k, v in os.environ.items() if k != "LD_PRELOAD"}
        done = subprocess.run([COMMAND, *arguments], capture_output=True, text=True, check=False, env=environment)
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def draws_of(self, run):
        """The draws that the command wrote: chain x draw x parameter, with the bits that are in the files."""
        import numpy as np
        out = []
        for chain in range(1, 10_000):
            file = os.path.join(run, f"draws-{chain}.csv")
            if not os.path.exists(file):
                break
            with open(file, encoding="utf-8") as lines:
                body = [line for line in lines if not line.startswith("#")]
            names = body[0].strip().split(",")
            first = next(k for k, name in enumerate(names) if not name.endswith("__"))
            out.append([[float(cell) for cell in line.split(",")[first:]] for line in body[1:]])
        return np.array(out)


def python(code, *arguments, **keywords):
    """Runs Python code in another process."""
    return subprocess.run([sys.executable, "-B", "-c", code, *arguments], capture_output=True, text=True, timeout=300,
                          check=False, **keywords)
