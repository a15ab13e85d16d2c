# Copyright (c) the mlo authors. BSD-3-Clause.
"""A run that was interrupted or killed keeps what it has, and when continued gives the very draws it would have had."""
import os
import signal
import struct
import time
import unittest

from support import CommandTest

# Sanitizers make a step eight times as long, or more.
SHARE = 8 if os.environ.get("MLO_SANITIZED") == "1" else 1


def steps(count):
    return str(count // SHARE)


# With the steps per draw that take a quarter of a second or so.
LONG = {
    "full with an adaptive proposal": (("--method", "full", "--proposal", "adaptive"), 160),
    "mlo with a random walk": (("--method", "mlo", "--proposal", "random-walk", "--subsample-size", "50"), 160),
    "mlo-adaptive": (("--method", "mlo-adaptive", "--subsample-size", "20", "--max-subsample-size", "100"), 160),
    "exact": (("--method", "exact"), 2400),
    "difference": (("--method", "difference"), 160),
    "block": (("--method", "block"), 160),
    "consensus": (("--method", "consensus", "--shards", "3"), 80),
    "weierstrass": (("--method", "weierstrass", "--shards", "3"), 80),
}


def long(name, times=1):
    """The options of a method, for so many times the work."""
    options, thin = LONG[name]
    return (*options, "--thin", steps(thin * times))


class Interruption(CommandTest):
    base = ("fit", "data.csv", "y ~ x1 + x2", "--chains", "2", "--seed", "4", "--threads", "2")
    sampling = (*base, "--warmup", "2000", "--draws", "300")
    warming = (*base, "--warmup", steps(250000), "--draws", "300", "--method", "full", "--proposal", "adaptive")

    def setUp(self):
        super().setUp()
        self.make_data()

    def whole_and_identical(self, run, reference):
        self.assertEqual(self.files(run), ["draws-1.csv", "draws-2.csv", "run.json", "statistics.csv", "summary.csv"])
        self.assertEqual(self.draws_bytes(run, 2), self.draws_bytes(reference, 2))
        self.assertEqual(self.read(run, "summary.csv"), self.read(reference, "summary.csv"))
        first, second = self.run_json(run), self.run_json(reference)
        for record in (first, second):
            del record["summary"]["seconds"]
        self.assertEqual(first, second)

    def test_an_interrupted_run_keeps_its_draws_and_resumes_to_the_same_ones(self):
        for name in LONG:
            with self.subTest(method=name):
                def fit(out, times, name=name):
                    return (*self.sampling, *long(name, times), "--out", out)

                run, reference = f"{name.split()[0]}-run", f"{name.split()[0]}-reference"
                times, result = self.interrupted_in_time(lambda times: fit(run, times), "sampling [", run)
                self.good(*fit(reference, times))
                self.assertTrue(result.stderr.endswith(
                    f"mlo fit: interrupted; continue with: mlo fit --resume --out {run}\n"), result.stderr)
                self.assertEqual(self.run_json(run)["status"], "interrupted")
                self.assertEqual([name for name in self.files(run) if name.endswith(".part")], [])
                made = self.run_json(run)["summary"]["draws"]
                self.assertIn(f"INTERRUPTED: the table shows the {made} draws per chain that were made.", result.stdout)
                self.assertEqual(self.good("summary", run).stdout, result.stdout)
                for chain in (1, 2):
                    kept = self.draws(run, chain).parameters()
                    self.assertGreaterEqual(len(kept), made)
                    self.assertEqual(kept, self.draws(reference, chain).parameters()[:len(kept)])
                # Killed while it resumes: the checkpoints of the interruption are still there.
                process = self.start("fit", "--resume", "--out", run)
                self.wait_for(process, "finding the mode")
                self.signalled(process, signal.SIGKILL)
                self.good("fit", "--resume", "--out", run, "--threads", "1")
                self.whole_and_identical(run, reference)

    def test_a_run_can_be_interrupted_in_warm_up(self):
        self.good(*self.warming, "--out", "reference")
        result = self.interrupted(self.start(*self.warming, "--out", "run"), "warm-up ")
        self.assertEqual(result.stdout, "")
        self.assertEqual(self.files("run"), ["checkpoint-1", "checkpoint-2", "run.json"])
        unfinished = self.mlo("summary", "run")
        self.assertEqual((unfinished.code, unfinished.stdout), (3, ""))
        self.assertEqual(unfinished.stderr, "mlo summary: run: this run is not finished; continue it with "
                                            "mlo fit --resume --out run\n")
        self.good("fit", "--resume", "--out", "run")
        self.whole_and_identical("run", "reference")

    def test_an_interruption_says_how_to_continue_also_in_warm_up(self):
        result = self.interrupted(self.start(*self.warming, "--out", "run"), "warm-up ")
        self.assertIn("mlo fit --resume --out run", result.stderr)

    def test_a_run_can_be_interrupted_again_and_again(self):
        # Enough must be left when a busy machine shows its progress late.
        options = long("mlo with a random walk", 16)
        self.good(*self.sampling, *options, "--out", "reference")
        self.interrupted(self.start(*self.sampling, *options, "--out", "run"), "sampling [")
        self.interrupted(self.start("fit", "--resume", "--out", "run"), "sampling [")
        self.good("fit", "--resume", "--out", "run")
        self.whole_and_identical("run", "reference")

    def test_sigterm_ends_a_run_like_sigint(self):
        process = self.start(*self.sampling, *long("mlo-adaptive", 100), "--out", "run")
        self.wait_for(process, "sampling [")
        self.assertEqual(self.signalled(process, signal.SIGTERM).code, 130)
        self.assertEqual(self.run_json("run")["status"], "interrupted")

    def test_an_interrupted_simulation_leaves_no_file(self):
        process = self.start("simulate", "logistic", "--rows", "1000000000", "--out", "large.csv")
        stop = time.monotonic() + 60
        while not os.path.exists(self.path("large.csv.part")):
            self.assertLess(time.monotonic(), stop)
            time.sleep(0.02)
        time.sleep(0.1)
        result = self.signalled(process, signal.SIGINT)
        self.assertEqual((result.code, result.stderr), (130, "mlo simulate: interrupted: large.csv is not written\n"))
        self.assertEqual(self.files(), ["data.csv"])

    def test_without_a_directory_the_interrupted_summary_is_still_printed(self):
        result = self.interrupted(self.start(*self.sampling, *long("mlo-adaptive", 100)), "sampling [")
        self.assertIn("INTERRUPTED", result.stdout)
        self.assertTrue(result.stderr.endswith(
            "mlo fit: interrupted; without --out the draws are not kept on disk\n"), result.stderr)

    def test_a_killed_run_without_a_checkpoint_starts_afresh(self):
        self.good(*self.warming, "--out", "reference")
        process = self.start(*self.warming, "--out", "run")
        # Sooner than a progress line would show: on a busy machine that may be after the first checkpoint.
        stop = time.monotonic() + 150
        while not os.path.exists(self.path("run/run.json")):
            self.assertLess(time.monotonic(), stop)
            time.sleep(0.01)
        self.signalled(process, signal.SIGKILL)
        self.assertEqual(self.files("run"), ["run.json"])
        self.assertEqual(self.run_json("run")["status"], "running")
        self.good("fit", "--resume", "--out", "run")
        self.whole_and_identical("run", "reference")

    def test_a_killed_run_continues_from_its_last_checkpoint(self):
        # Would take far longer than this test: it is killed at its first checkpoint, continued, and
        # interrupted.
        endless = ("fit", "data.csv", "y ~ x1 + x2", "--chains", "1", "--seed", "4", "--warmup", "64", "--thin", "200")
        process = self.start(*endless, "--draws", "1000000", "--out", "run")
        stop = time.monotonic() + 150
        while not os.path.exists(self.path("run", "checkpoint-1")):
            self.assertLess(time.monotonic(), stop, "a checkpoint is due every 5 seconds")
            time.sleep(0.02)
        self.signalled(process, signal.SIGKILL)
        # In a checkpoint, the magic word and the key are followed by the number of steps made.
        steps, = struct.unpack_from("=Q", self.read("run", "checkpoint-1"), 16 + 8)
        saved = (steps - 64) // 200
        self.assertGreater(saved, 0)
        process = self.start("fit", "--resume", "--out", "run")
        self.wait_for(process, "finding the mode")
        time.sleep(0.5)
        self.signalled(process, signal.SIGINT)
        kept = self.draws("run", 1).parameters()
        self.assertGreater(len(kept), saved)
        # Draws do not depend on how many more are asked for.
        first = min(len(kept), saved + 20)
        self.good(*endless, "--draws", str(first), "--out", "reference")
        self.assertEqual(kept[:first], self.draws("reference", 1).parameters())


if __name__ == "__main__":
    unittest.main(verbosity=2)
