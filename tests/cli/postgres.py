# Copyright (c) the mlo authors. BSD-3-Clause.
"""A table of a real PostgreSQL through a pipe: psql -c "copy (...) to stdout csv header" | mlo fit - ...

The server runs in a temporary folder and listens on a socket there. Exit code 77: the server is not installed.
"""
import glob
import os
import pwd
import shutil
import subprocess
import sys
import unittest

from support import COMMAND, PATIENCE_SECONDS, CommandTest

SHORT = ("--seed", "5", "--chains", "2", "--warmup", "100", "--draws", "100", "--quiet")


def programs():
    """The folder of the newest server's programs; None if there is none."""
    folders = sorted(glob.glob("/usr/lib/postgresql/*/bin"), key=lambda name: float(name.split("/")[-2]))
    found = shutil.which("initdb")
    if found:
        folders.insert(0, os.path.dirname(os.path.realpath(found)))
    complete = [name for name in folders
                if all(os.path.exists(os.path.join(name, program)) for program in ("initdb", "pg_ctl", "psql"))]
    return complete[-1] if complete else None


class Postgres(CommandTest):
    def setUp(self):
        super().setUp()
        self.make_data(rows=500)
        # The server refuses to run as root.
        self.user = {}
        self.place = self.path("server")
        os.mkdir(self.place, 0o700)
        if os.getuid() == 0:
            nobody = pwd.getpwnam("nobody")
            os.chown(self.place, nobody.pw_uid, nobody.pw_gid)
            os.chmod(self.directory, 0o711)
            self.user = {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}
        self.server("initdb", "-D", self.path("server", "data"), "-U", "tester", "-A", "trust", "-E", "UTF8", "--no-locale",
                    "--no-sync")
        self.server("pg_ctl", "-D", self.path("server", "data"), "-l", self.path("server", "log"), "-w", "-t", "60", "-o",
                    f"-k {self.place} -h '' -F", "start")
        self.addCleanup(self.server, "pg_ctl", "-D", self.path("server", "data"), "-m", "immediate", "stop")

    def server(self, program, *args):
        done = subprocess.run([os.path.join(programs(), program), *args], cwd=self.place, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=PATIENCE_SECONDS, check=False,
                              env=dict(os.environ, LC_ALL="C"), **self.user)
        self.assertEqual(done.returncode, 0, done.stdout.decode())

    def psql(self, *args):
        return [os.path.join(programs(), "psql"), "-X", "-q", "-h", self.place, "-U", "tester", "-d", "postgres", "-v",
                "ON_ERROR_STOP=1", *args]

    def test_a_table_through_a_pipe_gives_the_draws_of_the_file(self):
        with open(self.path("data.csv"), "rb") as data:
            subprocess.run(self.psql("-c", "create table measured(id serial, y int, x1 double precision, x2 double precision)",
                                     "-c", "copy measured(y, x1, x2) from stdin csv header"), stdin=data, check=True,
                           timeout=PATIENCE_SECONDS)
        copy = self.psql("-c", "copy (select x2, y, x1 from measured order by id) to stdout csv header")
        with subprocess.Popen(copy, stdout=subprocess.PIPE) as source:
            fit = subprocess.run([COMMAND, "fit", "-", "y ~ x1 + x2", *SHORT, "--out", "piped"], cwd=self.directory,
                                 stdin=source.stdout, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                 timeout=PATIENCE_SECONDS, check=False)
        self.assertEqual((source.returncode, fit.returncode), (0, 0), fit.stderr.decode())
        self.good("fit", "data.csv", "y ~ x1 + x2", *SHORT, "--out", "file")
        for chain in (1, 2):
            self.assertEqual(self.draws("piped", chain).text_rows, self.draws("file", chain).text_rows)

    def test_a_failed_copy_leaves_no_data_to_fit(self):
        copy = self.psql("-c", "copy (select * from nowhere) to stdout csv header")
        with subprocess.Popen(copy, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as source:
            fit = subprocess.run([COMMAND, "fit", "-", "y ~ x1", "--quiet"], cwd=self.directory, stdin=source.stdout,
                                 stderr=subprocess.PIPE, timeout=PATIENCE_SECONDS, check=False)
        self.assertEqual(fit.returncode, 3)
        self.assertRegex(fit.stderr.decode(), "^mlo fit: standard input: the file is empty$")


if __name__ == "__main__":
    if programs() is None:
        print("skipped: PostgreSQL's server is not installed (Debian's package postgresql)")
        sys.exit(77)
    unittest.main(verbosity=2)
