# Copyright (c) the mlo authors. BSD-3-Clause.
"""Builds the extension module mlo._core with CMake, for pip. MLO_BUILD_DIR names a finished build to take it from."""
import os
import re
import subprocess

from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

ROOT = os.path.dirname(os.path.abspath(__file__))


class CMakeBuild(build_ext):
    def build_extension(self, extension):
        target = os.path.dirname(os.path.abspath(self.get_ext_fullpath(extension.name)))
        build = os.environ.get("MLO_BUILD_DIR")
        if not build:
            import sys
            build = os.path.join(os.path.abspath(self.build_temp), "cmake")
            subprocess.run(["cmake", "-S", ROOT, "-B", build, "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release",
                            "-DCMAKE_CXX_FLAGS_RELEASE=-O3 -DNDEBUG", "-DMLO_TESTS=OFF", "-DMLO_BENCH=OFF",
                            "-DMLO_PYTHON_MODULE=ON", f"-DPython_EXECUTABLE={sys.executable}"], check=True)
            subprocess.run(["cmake", "--build", build, "--target", "mlo_python"], check=True)
        place = os.path.join(os.path.abspath(self.build_temp), "prefix")
        subprocess.run(["cmake", "--install", build, "--prefix", place, "--component", "python"], check=True)
        os.makedirs(target, exist_ok=True)
        for folder, _, files in os.walk(place):
            for name in files:
                if name.startswith("_core."):
                    self.copy_file(os.path.join(folder, name), os.path.join(target, name))


def version():
    with open(os.path.join(ROOT, "CMakeLists.txt"), encoding="utf-8") as file:
        return re.search(r"project\(mlo VERSION ([\d.]+)", file.read())[1]


setup(version=version(), ext_modules=[Extension("mlo._core", [])], cmdclass={"build_ext": CMakeBuild})
