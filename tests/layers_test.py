#!/usr/bin/env python3
# Copyright (c) the mlo authors. BSD-3-Clause.
"""The layers' arrows point one way: a file includes only headers of its own layer and of those before it."""
import pathlib
import re
import sys

LAYERS = ["base", "data", "model", "subsample", "kernel", "chain", "diagnose", "report", "registry",
          "experiments", "cli"]


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
            for number, line in enumerate(file.read_text().splitlines(), 1):
                if layer == "experiments" and re.match(r'\s*#include "(?!mlo/|experiments/)', line):
                    wrong.append(f"{file}:{number}: the experiments are users of the library: public headers only")
                match = re.match(r'\s*#include "(?:mlo/)?([a-z]+)/', line)
                if not match:
                    continue
                if match[1] not in LAYERS or LAYERS.index(match[1]) > LAYERS.index(layer):
                    wrong.append(f"{file}:{number}: layer {layer} must not include {match[1]}")
    if files < 50:
        wrong.append(f"only {files} files found: is {root} the project?")
    return wrong


if __name__ == "__main__":
    problems = check(pathlib.Path(sys.argv[1]))
    print("\n".join(problems) or "all includes point to earlier layers")
    sys.exit(1 if problems else 0)
