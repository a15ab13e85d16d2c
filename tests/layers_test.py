#!/usr/bin/env python3
# Copyright (c) the mlo authors. BSD-3-Clause.
"""The layers' arrows point one way: a file includes only headers of its own layer and of those before it.

So do the tests of a layer, which otherwise would not link without the later ones. What they include of tests/support
counts with all that it includes in turn.
"""
import pathlib
import re
import sys

LAYERS = ["base", "data", "model", "subsample", "kernel", "chain", "diagnose", "method", "report", "fit",
          "experiments", "cli"]
# Folders of tests that may use the whole library.
FREE = ["slow", "cli", "experiments", "consumer"]
INCLUDE = re.compile(r'\s*#include "(?:\.\./)*(?:src/|include/)?(?:mlo/)?([a-z_]+)/([^"]+)"')


def includes(file: pathlib.Path) -> list[tuple[int, str, str]]:
    """Line number, folder and the rest of the path of each of our own headers."""
    lines = enumerate(file.read_text().splitlines(), 1)
    return [(number, match[1], match[2]) for number, line in lines if (match := INCLUDE.match(line))]


def check(root: pathlib.Path) -> list[str]:
    wrong = []
    files = 0
    for folder in (root / "include" / "mlo", root / "src", root / "experiments"):
        for file in sorted(folder.rglob("*.[ch]pp")):
            layer = "experiments" if folder.name == "experiments" else file.relative_to(folder).parts[0]
            if layer not in LAYERS:
                wrong.append(f"{file}: unknown layer {layer}")
                continue
            files += 1
            if layer == "experiments":
                for number, line in enumerate(file.read_text().splitlines(), 1):
                    if re.match(r'\s*#include "(?!mlo/|experiments/)', line):
                        wrong.append(f"{file}:{number}: the experiments are users of the library: public headers only")
            for number, used, _ in includes(file):
                if used not in LAYERS or LAYERS.index(used) > LAYERS.index(layer):
                    wrong.append(f"{file}:{number}: layer {layer} must not include {used}")
    if files < 50:
        wrong.append(f"only {files} files found: is {root} the project?")
    return wrong + check_headers(root) + check_tests(root / "tests")


def check_headers(root: pathlib.Path) -> list[str]:
    """A public header is the first include of its body, so that it must compile alone. Precompiled headers hide one thing:
    a header that uses Eigen has to include it, itself or by others of ours."""
    wrong = []
    headers = {str(file.relative_to(root / "include")): file.read_text()
               for file in sorted((root / "include").rglob("*.hpp"))}

    def has_eigen(name: str, seen: set[str]) -> bool:
        if name in seen or name not in headers:
            return False
        seen.add(name)
        text = headers[name]
        return "#include <Eigen/" in text or any(
            has_eigen(other, seen) for other in re.findall(r'#include "(mlo/[^"]+)"', text))

    for name, text in headers.items():
        body = root / "src" / name.removeprefix("mlo/").replace(".hpp", ".cpp")
        if body.exists():
            first = re.search(r'#include "([^"]+)"', body.read_text())
            if first is None or first[1] != name:
                wrong.append(f"{body}: the first include must be its own header, {name}")
        if "Eigen::" in text and not has_eigen(name, set()):
            wrong.append(f"{name}: uses Eigen and does not include it")
    return wrong


def latest_layer(support: pathlib.Path, header: str) -> str:
    """The last of the layers that a header of tests/support includes, itself or by others of the folder."""
    latest = LAYERS[0]
    for _, used, rest in includes(support / header):
        layer = latest_layer(support, rest) if used == "support" else used
        latest = max(latest, layer, key=LAYERS.index)
    return latest


def check_tests(tests: pathlib.Path) -> list[str]:
    wrong = []
    files = 0
    for file in sorted(tests.rglob("*.[ch]pp")):
        layer = file.relative_to(tests).parts[0]
        if layer in FREE or layer == "support":  # support: by way of the tests that use it
            continue
        if layer not in LAYERS:
            wrong.append(f"{file}: unknown layer {layer}")
            continue
        files += 1
        for number, used, rest in includes(file):
            latest = latest_layer(tests / "support", rest) if used == "support" else used
            if latest not in LAYERS or LAYERS.index(latest) > LAYERS.index(layer):
                by = f", by way of support/{rest}" if used == "support" else ""
                wrong.append(f"{file}:{number}: a test of layer {layer} must not include {latest}{by}")
    if files < 30:
        wrong.append(f"only {files} tests found: is {tests.parent} the project?")
    return wrong


if __name__ == "__main__":
    problems = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "all includes point to earlier layers")
    sys.exit(1 if problems else 0)
