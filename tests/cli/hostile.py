# Copyright (c) the mlo authors. BSD-3-Clause.
"""Files that nobody writes in good faith: an answer or an error in bounded memory, never a crash.

The short ones run with the tests. With MLO_HOSTILE=long they have their full size: a line of 1 GB, 10^7 levels, gzip bombs of
1 GB (a minute or two, 2 GB of memory): MLO_HOSTILE=long MLO_COMMAND=build/release/mlo python3 tests/cli/hostile.py
"""
import gzip
import os
import resource
import struct
import subprocess
import tempfile
import threading
import unittest
import zlib

from support import COMMAND, PATIENCE_SECONDS, CommandTest

LONG = os.environ.get("MLO_HOSTILE") == "long"
# Sanitizers need memory of their own, and terabytes of addresses.
SANITIZED = os.environ.get("MLO_SANITIZED") == "1"
MB = 1 << 20


class Outcome:
    def __init__(self, code, output, peak):
        self.code, self.output, self.peak = code, output, peak


class Hostile(CommandTest):
    # A program that would take more ends with std::bad_alloc, which is not among the exit codes that are allowed.
    memory_limit = (8 if LONG else 3) << 30

    def run_limited(self, *args, feed=None):
        """Runs the command with a limit on its memory; feed: pieces of standard input, as a pipe. The peak is in MB."""
        def limit():
            if not SANITIZED:
                resource.setrlimit(resource.RLIMIT_AS, (self.memory_limit, self.memory_limit))
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        with tempfile.TemporaryFile() as output:
            process = subprocess.Popen([COMMAND, *args], cwd=self.directory, env=self.environment(),
                                       stdin=subprocess.DEVNULL if feed is None else subprocess.PIPE, stdout=output,
                                       stderr=subprocess.STDOUT, preexec_fn=limit)
            clock = threading.Timer(PATIENCE_SECONDS, process.kill)
            clock.start()
            if feed is not None:
                try:
                    for piece in feed:
                        process.stdin.write(piece)
                except BrokenPipeError:
                    pass  # it has read enough to say no
                try:
                    process.stdin.close()
                except BrokenPipeError:
                    pass
            _, status, usage = os.wait4(process.pid, 0)
            clock.cancel()
            process.returncode = os.waitstatus_to_exitcode(status)
            output.seek(0)
            return Outcome(process.returncode, output.read().decode(errors="replace"), usage.ru_maxrss / 1024)

    def expect(self, outcome, code, words, peak):
        self.assertEqual(outcome.code, code, outcome.output[-2000:])
        self.assertLess(len(outcome.output), 100000)
        self.assertIn(words, outcome.output)
        if not SANITIZED:
            self.assertLess(outcome.peak, peak, "MB of memory")

    def gzip_of(self, name, start, piece, pieces):
        """A gzip of start and many times the same piece, without ever holding it."""
        packer = zlib.compressobj(6, zlib.DEFLATED, 31)
        with open(self.path(name), "wb") as file:
            file.write(packer.compress(start))
            for _ in range(pieces):
                file.write(packer.compress(piece))
            file.write(packer.flush())
        return name

    # ---- shapes

    def test_a_million_columns(self):
        columns = 10**6
        text = ",".join(f"c{j}" for j in range(columns)) + "\n"
        for pair in ("1,0,", "0,1,", "1,1,", "0,0,"):
            text += (pair * (columns // 2))[:-1] + "\n"
        self.write("wide.csv", text)
        self.expect(self.run_limited("fit", "wide.csv", "c0 ~ c1", "--dry-run"), 0, "2 design columns", 300)
        self.expect(self.run_limited("fit", "wide.csv", "c0 ~ .", "--dry-run"), 2, "more than 10000 terms", 600)
        if LONG:
            outcome = self.run_limited("describe", "wide.csv")
            self.assertEqual(outcome.code, 0, outcome.output[-2000:])
            self.assertIn("4 rows, 1,000,000 columns", outcome.output[:1000])
            self.assertLess(outcome.peak, 1500, "MB of memory")

    def test_a_line_without_an_end(self):
        for start, rule in ((b"", "standard input:1: the line is longer than 8 MiB"),
                            (b"y,x\n", "standard input:2: the line is longer than 8 MiB"),
                            (b'y,x\n1,"', "standard input:2: the quote that starts here is not closed within 8 MiB")):
            for piece in (b"a" * MB, b"1," * (MB // 2)):
                with self.subTest(start=start, piece=piece[:2]):
                    feed = (piece if k else start + piece for k in range(1024))
                    self.expect(self.run_limited("describe", "-", feed=feed), 3, rule, 100)

    def test_as_many_levels_as_rows(self):
        rows = 10**7 if LONG else 3 * 10**5

        def feed():
            yield b"y,id\n"
            for first in range(0, rows, 10**5):
                yield "".join(f"{j & 1},id{j}\n" for j in range(first, first + 10**5)).encode()
        outcome = self.run_limited("fit", "-", "y ~ id", "--dry-run", feed=feed())
        self.expect(outcome, 3, "levels", 3000 if LONG else 150)

    def test_quotes(self):
        many = b'"' * (1 << 20)
        for bytes_, code, words in ((b"x\n" + many + b"\n", 0, "text"),
                                    (b"x\n" + many + b'"\n', 3, "the quote that starts here is never closed"),
                                    (many + b"\n1\n", 0, "number"),
                                    (b"x\n" + b'""\n' * (1 << 18), 0, "262,144")):
            self.write("quotes.csv", bytes_)
            outcome = self.run_limited("describe", "quotes.csv")
            self.expect(outcome, code, words, 150)

    # ---- bytes

    def test_nul_bytes_and_text_that_is_not_utf8(self):
        for bytes_, code, words in ((b"x,y\n1,2\n\0,3\n", 3, "bytes.csv:3: a NUL byte"),
                                    (b"\0" * 1000, 3, "a NUL byte"),
                                    ("x,y\n1,2\n".encode("utf-16"), 3, "UTF-16"),
                                    (b"x,y\n1,\xff\xfe\n2,\x80\n1,\xc3\n", None, ""),
                                    (b"\xff\xff\xff\n\xed\xa0\x80\n", None, ""),
                                    (bytes(range(1, 256)) * 50, None, "")):
            with self.subTest(bytes_=bytes_[:20]):
                self.write("bytes.csv", bytes_)
                outcome = self.run_limited("describe", "bytes.csv")
                self.assertIn(outcome.code, (0, 3) if code is None else (code,), outcome.output[-2000:])
                self.assertIn(words, outcome.output)

    # ---- packed

    def test_a_gzip_of_zeros_stops_at_the_first(self):
        self.gzip_of("zeros.csv.gz", b"y,x\n1,2\n", b"\0" * MB, 1024 if LONG else 64)
        self.expect(self.run_limited("describe", "zeros.csv.gz"), 3, "zeros.csv.gz:3: a NUL byte", 100)

    def test_a_gzip_of_repeated_rows_takes_the_memory_of_its_rows(self):
        pieces = 1024 if LONG else 24
        self.gzip_of("rows.csv.gz", b"y,x\n", b"1,0\n0,1\n" * (MB // 8), pieces)
        # 4 bytes of text per row; 16 bytes in memory, which a vector that grows may hold three times at its worst.
        rows = pieces * MB // 4
        self.expect(self.run_limited("describe", "rows.csv.gz"), 0, f"{rows:,} rows", 60 + 3 * 16 * rows / MB)

    def test_packed_files_that_are_cut_or_lie(self):
        good = gzip.compress(b"y,x\n" + b"".join(b"%d,%d\n" % (k % 2, k * 7919 % 1009) for k in range(5000)), mtime=0)
        files = {"cut": (good[:len(good) // 2], "truncated"), "without its end": (good[:-8], "truncated"),
                 "with a length that lies": (good[:-4] + struct.pack("<I", 10), "corrupt"),
                 "with a sum that lies": (good[:-8] + b"\0\0\0\0" + good[-4:], "corrupt"),
                 "with more after it": (good + b"and more", "corrupt"),
                 "with another after it that is cut": (good + good[:30], "truncated"),
                 "a zstd that is cut": (b"\x28\xb5\x2f\xfd\x24", "truncated"),
                 "a zstd with a window of 2 GiB": (b"\x28\xb5\x2f\xfd\x00\xa8\x01\x00\x00", "128 MiB")}
        for name, (bytes_, words) in files.items():
            with self.subTest(name):
                self.write("packed.csv", bytes_)
                self.expect(self.run_limited("describe", "packed.csv"), 3, words, 100)


if __name__ == "__main__":
    unittest.main(verbosity=2)
