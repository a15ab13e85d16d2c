# Copyright (c) the mlo authors. BSD-3-Clause.
"""The package as it is installed: by cmake --install, and by pip into a virtual environment. Both take what the build
directory has; MLO_PIP=full in the environment makes pip build everything itself, which takes minutes."""
import glob
import os
import shutil
import subprocess
import sys
import unittest

from support import BUILD, SOURCE, PlaceTest, absent

TRY = """
import mlo, os, sys
assert os.path.realpath(mlo.__file__).startswith(os.path.realpath(sys.argv[1])), mlo.__file__
fit = mlo.fit("y ~ x1", mlo.simulate("logistic", rows=500, seed=1), seed=1, draws=10, warmup=10)
assert fit.draws.shape == (4, 10, 2)
assert os.path.exists(os.path.join(os.path.dirname(mlo.__file__), "py.typed"))
print(mlo.__version__)
"""


class Install(PlaceTest):
    def run_in(self, *command, **environment):
        clean = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH",)}
        clean.update(environment)
        done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=self.place, env=clean)
        self.assertEqual(done.returncode, 0, f"{' '.join(command)}\n{done.stdout}\n{done.stderr}")
        return done.stdout

    def test_by_cmake(self):
        if not BUILD:
            self.skipTest("MLO_BUILD is not set")
        self.run_in("cmake", "--install", BUILD, "--prefix", self.path("prefix"), "--component", "python")
        places = glob.glob(self.path("prefix", "lib", "python3*", "*-packages"))
        self.assertEqual(len(places), 1)
        out = self.run_in(sys.executable, "-B", "-c", TRY, self.path("prefix"), PYTHONPATH=places[0])
        self.assertRegex(out, r"^\d+\.\d+")

    def test_by_pip_into_a_virtual_environment(self):
        if not BUILD:
            self.skipTest("MLO_BUILD is not set")
        try:
            import ensurepip  # noqa: F401
            import venv  # noqa: F401
            import wheel  # noqa: F401
        except ImportError:
            absent("python3-venv, python3-pip or python3-wheel")
        self.run_in(sys.executable, "-m", "venv", "--system-site-packages", self.path("venv"))
        environment = {} if os.environ.get("MLO_PIP") == "full" else {"MLO_BUILD_DIR": BUILD}
        # A copy of what the package is made of, so that nothing is written to the sources.
        for name in ("pyproject.toml", "setup.py", "README.md", "LICENSE", "CMakeLists.txt", "cmake", "include", "src",
                     "experiments", "fuzz"):
            os.symlink(os.path.join(SOURCE, name), self.path(name))
        shutil.copytree(os.path.join(SOURCE, "python"), self.path("python"),
                        ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
        self.run_in(self.path("venv", "bin", "python"), "-m", "pip", "install", "--quiet", "--no-index", "--no-build-isolation",
                    self.place, **environment)
        out = self.run_in(self.path("venv", "bin", "python"), "-B", "-c", TRY, self.path("venv"))
        self.assertRegex(out, r"^\d+\.\d+")


if __name__ == "__main__":
    unittest.main()
