# Copyright (c) the mlo authors. BSD-3-Clause.
"""Fits in threads, after a fork, side by side, and interrupted."""
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
import unittest

import numpy as np
from support import PlaceTest, python

import mlo

HOW = {"seed": 3, "draws": 200, "warmup": 100}


def data(rows=3000):
    found = mlo.simulate("logistic", rows=rows, seed=4)
    return {name: np.asarray(found[name]) for name in found}


def job(queue):
    queue.put(mlo.fit("y ~ x1 + x2", data(), **HOW).draws.copy())


class Concurrency(PlaceTest):
    def test_two_fits_at_once_have_the_draws_of_each_alone(self):
        source = data()
        alone = [mlo.fit("y ~ x1 + x2", source, **{**HOW, "seed": seed}).draws.copy() for seed in range(4)]
        found = [None] * 4

        def work(seed):
            found[seed] = mlo.fit("y ~ x1 + x2", source, **{**HOW, "seed": seed}).draws

        threads = [threading.Thread(target=work, args=(seed,)) for seed in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for a, b in zip(alone, found):
            self.assertTrue(np.array_equal(a, b))

    def test_python_goes_on_while_a_fit_runs(self):
        source = data(20_000)
        done = threading.Event()

        def work():
            mlo.fit("y ~ x1 + x2", source, method="full", seed=1, draws=200, warmup=50, chains=2, thin=1)
            done.set()

        thread = threading.Thread(target=work)
        thread.start()
        count = 0
        while not done.is_set():
            count += 1
            time.sleep(0.001)
        thread.join()
        self.assertGreater(count, 10)

    def test_after_a_fork(self):
        expected = mlo.fit("y ~ x1 + x2", data(), **HOW).draws
        context = multiprocessing.get_context("fork")
        queue = context.Queue()
        processes = [context.Process(target=job, args=(queue,)) for _ in range(2)]
        for process in processes:
            process.start()
        for _ in processes:
            self.assertTrue(np.array_equal(queue.get(timeout=120), expected))
        for process in processes:
            process.join()
            self.assertEqual(process.exitcode, 0)

    def test_a_fork_while_a_fit_runs_in_another_thread(self):
        source = data(20_000)
        thread = threading.Thread(target=lambda: mlo.fit("y ~ x1", source, method="full", seed=1, draws=300, thin=1))
        thread.start()
        time.sleep(0.1)
        pid = os.fork()
        if pid == 0:
            fine = 1
            try:
                fine = 0 if mlo.fit("y ~ x1", data(), **HOW).draws.shape == (4, 200, 2) else 1
            finally:
                os._exit(fine)
        _, status = os.waitpid(pid, 0)
        thread.join()
        self.assertEqual(status, 0)

    def test_interrupt_returns_what_was_drawn(self):
        code = """
import mlo, numpy as np, os, signal, threading, time
def stop(now):
    if now["phase"] == "sampling" and now["share"] > 0.02:
        os.kill(os.getpid(), signal.SIGINT)
fit = mlo.fit("y ~ x1", mlo.simulate("logistic", rows=3000, seed=1), method="full", thin=1, warmup=10, draws=10**7,
              seed=1, progress=stop)
assert fit.interrupted
assert 0 < fit.draws.shape[1] < 10**7, fit.draws.shape
assert "INTERRUPTED" in repr(fit)
again = mlo.fit("y ~ x1", mlo.simulate("logistic", rows=3000, seed=1), method="full", thin=1, warmup=10, draws=20, seed=1)
n = min(20, fit.draws.shape[1])
assert np.array_equal(again.draws[:, :n], fit.draws[:, :n])
print("kept")
"""
        code = code.replace("0.02", "0.00001")
        done = python(code)
        self.assertEqual(done.stdout.strip(), "kept", done.stderr)

    def test_interrupt_before_the_first_draw_is_a_keyboard_interrupt(self):
        code = """
import mlo, os, signal
def stop(now):
    os.kill(os.getpid(), signal.SIGINT)
try:
    mlo.fit("y ~ x1", mlo.simulate("logistic", rows=20000, seed=1), method="full", thin=1, warmup=10**8, seed=1, progress=stop)
except KeyboardInterrupt as error:
    print("interrupted:", error)
"""
        done = python(code)
        self.assertIn("interrupted: interrupted before the first draw", done.stdout, done.stderr)

    def test_an_interrupted_run_is_resumed(self):
        code = f"""
import mlo, os, signal
data = mlo.simulate("logistic", rows=3000, seed=1)
count = 0
def stop(now):
    if now["phase"] == "sampling":
        os.kill(os.getpid(), signal.SIGINT)
fit = mlo.fit("y ~ x1", data, method="full", thin=1, warmup=10, draws=30000, seed=1, progress=stop, out={self.path('run')!r})
assert fit.interrupted
whole = mlo.resume({self.path('run')!r}, data)
assert not whole.interrupted and whole.draws.shape == (4, 30000, 2)
n = fit.draws.shape[1]
assert (whole.draws[:, :n] == fit.draws).all()
print("resumed")
"""
        done = python(code)
        self.assertEqual(done.stdout.strip(), "resumed", done.stderr)

    def test_an_exception_of_the_callback_stops_the_fit_and_comes_out(self):
        class Mine(Exception):
            pass

        def fail(now):
            raise Mine(now["phase"])

        with self.assertRaises(Mine):
            mlo.fit("y ~ x1", data(20_000), method="full", thin=1, warmup=10**8, seed=1, progress=fail)

    def test_progress_tells_phases_and_shares(self):
        seen = []
        mlo.fit("y ~ x1", data(20_000), method="full", thin=1, warmup=2000, draws=2000, chains=2, seed=1, progress=seen.append)
        self.assertTrue(seen)
        self.assertTrue(all(0 <= now["share"] <= 1 for now in seen))
        self.assertTrue({"warm-up", "sampling"} & {now["phase"] for now in seen})

    def test_progress_is_a_line_in_a_terminal_and_silent_elsewhere(self):
        code = ("import mlo; mlo.fit('y ~ x1', mlo.simulate('logistic', rows=20000, seed=1), method='full', thin=1, warmup=6000,"
                " draws=6000, chains=2, seed=1)")
        self.assertEqual(python(code).stderr, "")
        import pty
        ours, theirs = pty.openpty()
        process = subprocess.Popen([sys.executable, "-B", "-c", code], stderr=theirs, stdout=subprocess.DEVNULL)
        os.close(theirs)
        text = b""
        while True:
            try:
                piece = os.read(ours, 65536)
            except OSError:
                break
            if not piece:
                break
            text += piece
        self.assertEqual(process.wait(), 0)
        self.assertIn(b"acceptance", text)
        self.assertTrue(text.endswith(b"\r\x1b[K"), text[-60:])

    def test_an_interrupt_while_a_thread_fits_does_not_hang(self):
        code = """
import mlo, threading, time
data = mlo.simulate("logistic", rows=20000, seed=1)
thread = threading.Thread(target=lambda: mlo.fit("y ~ x1", data, method="full", thin=1, draws=2000, seed=1))
thread.start()
print("ready", flush=True)
try:
    while thread.is_alive():
        time.sleep(0.01)
except KeyboardInterrupt:
    thread.join()
    print("joined")
"""
        process = subprocess.Popen([sys.executable, "-B", "-c", code], stdout=subprocess.PIPE, text=True)
        self.assertEqual(process.stdout.readline().strip(), "ready")
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=120)
        self.assertIn(out.strip(), ("joined", ""))  # "": the fit was faster


if __name__ == "__main__":
    unittest.main()
