# Copyright (c) the mlo authors. BSD-3-Clause.
"""What the end-to-end tests share: running the command, small data sets, reading what a run wrote.

The program under test is named by the environment variable MLO_COMMAND.
"""
import json
import math
import os
import random
import re
import resource
import select
import shutil
import signal
import subprocess
import tempfile
import time
import unittest

COMMAND = os.environ.get("MLO_COMMAND", "")
# A hung program fails its test here, with its output, before ctest ends the whole file.
PATIENCE_SECONDS = int(os.environ.get("MLO_PATIENCE_SECONDS", "200"))


class Result:
    def __init__(self, code, stdout, stderr):
        self.code, self.stdout, self.stderr = code, stdout, stderr


class Draws:
    """A draws-K.csv, read as strictly as Stan's readers do."""

    def __init__(self, path):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if not text.endswith("\n"):
            raise AssertionError(f"{path}: the last line is not complete")
        lines = text.splitlines()
        self.comments = [line for line in lines if line.startswith("#")]
        body = [line for line in lines if not line.startswith("#")]
        self.header = body[0].split(",")
        self.text_rows = [line.split(",") for line in body[1:]]
        self.rows = [[float(cell) for cell in row] for row in self.text_rows]
        for number, row in enumerate(self.rows):
            if len(row) != len(self.header):
                raise AssertionError(f"{path}: draw {number + 1} has {len(row)} cells, the header {len(self.header)}")

    def settings(self):
        pairs = (line.lstrip("# ").split(" = ", 1) for line in self.comments if " = " in line)
        return {name: value for name, value in pairs}

    def column(self, name):
        at = self.header.index(name)
        return [row[at] for row in self.rows]

    def values(self):
        """The parameters of each draw, without the statistics before them."""
        first = self.first_parameter()
        return [row[first:] for row in self.rows]

    def parameters(self):
        """The same as text."""
        first = self.first_parameter()
        return [row[first:] for row in self.text_rows]

    def first_parameter(self):
        return sum(name.endswith("__") for name in self.header)


class CommandTest(unittest.TestCase):
    """Each test has its own temporary directory, in which the command runs."""

    maxDiff = None

    def setUp(self):
        if not COMMAND:
            self.fail("set MLO_COMMAND to the program under test")
        self.directory = tempfile.mkdtemp(prefix="mlo-cli-")
        self.addCleanup(shutil.rmtree, self.directory)

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def write(self, name, contents):
        mode = "wb" if isinstance(contents, bytes) else "w"
        with open(self.path(name), mode) as file:
            file.write(contents)
        return name

    def read(self, *names):
        with open(self.path(*names), "rb") as file:
            return file.read()

    def files(self, *names):
        return sorted(os.listdir(self.path(*names)))

    def environment(self):
        # The system's own messages (no such file, ...) in English.
        return dict(os.environ, LC_ALL="C")

    def mlo(self, *args, stdout=subprocess.PIPE, file_size_limit=None, piped=None, variables=None):
        """Runs the command to its end. file_size_limit: bytes a file may have, as on a full disk. piped: bytes that come
        on standard input. variables: of the environment, besides those that are there."""
        limit = None
        if file_size_limit is not None:
            def limit():
                resource.setrlimit(resource.RLIMIT_FSIZE, (file_size_limit, file_size_limit))
        source = {"stdin": subprocess.DEVNULL} if piped is None else {"input": piped}
        environment = dict(self.environment(), **(variables or {}))
        done = subprocess.run([COMMAND, *args], cwd=self.directory, env=environment, **source, stdout=stdout,
                              stderr=subprocess.PIPE, timeout=PATIENCE_SECONDS, preexec_fn=limit, check=False)
        return Result(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())

    def good(self, *args, **kwargs):
        result = self.mlo(*args, **kwargs)
        self.assertEqual(result.code, 0, f"mlo {' '.join(args)}\n{result.stderr}")
        return result

    def start(self, *args):
        """Starts the command in the background; its stderr can be waited for."""
        process = subprocess.Popen([COMMAND, *args], cwd=self.directory, env=self.environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(self.end, process)
        process.seen = b""
        return process

    @staticmethod
    def end(process):
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()

    @staticmethod
    def shows(process, words):
        """Waits until stderr shows the words, or ends without them."""
        stop = time.monotonic() + PATIENCE_SECONDS
        while words.encode() not in process.seen:
            ready, _, _ = select.select([process.stderr], [], [], max(0, stop - time.monotonic()))
            piece = os.read(process.stderr.fileno(), 65536) if ready else b""
            if not piece:
                return False
            process.seen += piece
        return True

    def wait_for(self, process, words):
        """Waits until stderr shows the words."""
        if not self.shows(process, words):
            self.fail(f"stderr ended without {words!r}:\n{process.seen.decode()}")

    def signalled(self, process, which):
        """Sends the signal and waits for the end."""
        process.send_signal(which)
        stdout, stderr = process.communicate(timeout=PATIENCE_SECONDS)
        return Result(process.returncode, stdout.decode(), (process.seen + stderr).decode())

    def interrupted(self, process, words):
        """Sends SIGINT once stderr shows the words; the run must end as interrupted."""
        self.wait_for(process, words)
        result = self.signalled(process, signal.SIGINT)
        self.assertEqual(result.code, 130, result.stderr)
        return result

    def interrupted_in_time(self, command, words, run="run"):
        """The same for command(times), a run of so many times the work: more of it, where the run in `run` is over before
        the signal comes. Returns how many times, and the result. How long a run takes is the machine's affair, so that no
        length is right everywhere."""
        for times in (1, 4, 16, 64):
            process = self.start(*command(times))
            self.shows(process, words)
            result = self.signalled(process, signal.SIGINT)
            if result.code == 130:
                return times, result
            self.assertEqual(result.code, 0, result.stderr)
            shutil.rmtree(self.path(run))
        self.fail(f"the run is always over before it can be interrupted:\n{result.stderr}")

    def draws(self, run, chain):
        return Draws(self.path(run, f"draws-{chain}.csv"))

    def draws_bytes(self, run, chains):
        """The files of draws, without the times at their ends, and the statistics."""
        files = [self.read(run, f"draws-{k + 1}.csv") for k in range(chains)]
        for text in files:
            self.assertEqual(text.count(b"\n#  Elapsed Time: "), 1)
        return [*(text.partition(b"\n#  Elapsed Time: ")[0] for text in files), self.read(run, "statistics.csv")]

    def run_json(self, run):
        return json.loads(self.read(run, "run.json"))

    # Data from the standard library's generator: independent of the program under test.

    def make_data(self, name="data.csv", family="logistic", rows=200, seed=11):
        source = random.Random(seed)
        lines = ["y,x1,x2"]
        for _ in range(rows):
            x1, x2 = source.gauss(0, 1), source.gauss(0, 1)
            eta = 0.3 + 0.8 * x1 - 0.5 * x2
            if family == "negative-binomial":  # size 2
                eta += math.log(source.gammavariate(2, 0.5))
            if family == "logistic":
                y = int(source.random() < 1 / (1 + math.exp(-eta)))
            elif family == "probit":
                y = int(source.gauss(0, 1) < eta)
            elif family in ("poisson", "negative-binomial"):
                y, product, floor = 0, source.random(), math.exp(-math.exp(eta))
                while product > floor:
                    y, product = y + 1, product * source.random()
            elif family == "gamma":  # shape 2
                y = f"{math.exp(eta) * source.gammavariate(2, 0.5):.6g}"
            else:
                y = f"{eta + source.gauss(0, 1):.6f}"
            lines.append(f"{y},{x1:.6f},{x2:.6f}")
        return self.write(name, "\n".join(lines) + "\n")


def documented_options():
    """docs/options.md, which is made of the program's table of options: {name: the methods it is for; None: all}."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "docs", "options.md")
    options = {}
    with open(path, encoding="utf-8") as file:
        for line in file:
            row = re.match(r"\| `([\w-]+)` \|.*?(?:\. For ((?:[\w-]+(?:, | and )?)+|all methods except .*))? \|$", line)
            if row:
                options[row[1]] = row[2]
    return options


def uniform(seed, purpose, iteration):
    """The first number of a stream: Philox4x64-10 (Salmon et al. 2011) on (0, iteration, purpose, 0)."""
    words, keys = [0, iteration, purpose, 0], [seed, 0]
    mask = (1 << 64) - 1
    for _ in range(10):
        first, second = words[0] * 0xD2E7470EE14C6C93, words[2] * 0xCA5A826395121157
        words = [(second >> 64) ^ words[1] ^ keys[0], second & mask, (first >> 64) ^ words[3] ^ keys[1], first & mask]
        keys = [(keys[0] + 0x9E3779B97F4A7C15) & mask, (keys[1] + 0xBB67AE8584CAA73B) & mask]
    return ((words[0] >> 12) + 0.5) / 2 ** 52


def table_of(text):
    """The summary table of the text output: {parameter: {column: cell}}."""
    lines = text.splitlines()
    at = next(k for k, line in enumerate(lines) if line.startswith("parameter "))
    titles = re.split(r"\s{2,}", lines[at].strip())
    rows = {}
    for line in lines[at + 1:]:
        if not line:
            break
        cells = re.split(r"\s{2,}", line.strip())
        rows[cells[0]] = dict(zip(titles[1:], cells[1:]))
    return rows
