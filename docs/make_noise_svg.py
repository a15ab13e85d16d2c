#!/usr/bin/env python3
# Copyright (c) the mlo authors. BSD-3-Clause.
"""Draws docs/noise.svg from real runs of the command: the draws of one coefficient by every method.

    python3 docs/make_noise_svg.py build/release/mlo docs/noise.svg

Standard library only. The seed is fixed, so the same version of mlo gives the same picture.
"""
import csv
import json
import math
import subprocess
import sys
import tempfile
from pathlib import Path

ROWS = 100_000
PARAMETER = "x1"
FIT = ["y ~ 0 + x1 + x2", "--family", "logistic", "--prior", "normal(0, 3.1622776601683795)", "--seed", "1",
       "--draws", "4000", "--quiet"]
# name, options, label, what it says under the label, class of its line
RUNS = [
    ("full", ["--method", "exact"], "exact", "0.02 rows per step: the posterior", "full"),
    ("adaptive", ["--method", "mlo-adaptive", "--subsample-size", "100", "--max-subsample-size", "5000", "--thin", "10"],
     "mlo-adaptive", "100 to 5,000 rows per step", "adaptive"),
    ("mlo", ["--method", "mlo", "--subsample-size", "1000", "--thin", "10"], "mlo", "1,000 rows per step", "mlo"),
    ("uniform", ["--method", "uniform", "--subsample-size", "1000", "--thin", "10"],
     "uniform", "1,000 rows per step", "uniform"),
]

WIDTH, HEIGHT = 760, 400
LEFT, RIGHT, TOP, BOTTOM = 34, 726, 76, 340
LOW, HIGH, BIN = 0.88, 1.10, 0.0025

STYLE = """
  text { font-family: system-ui, -apple-system, "Segoe UI", Helvetica, Arial, sans-serif; fill: #24292f; }
  .title { font-size: 17px; font-weight: 600; }
  .small { font-size: 12.5px; fill: #57606a; }
  .tick { font-size: 12px; fill: #57606a; text-anchor: middle; }
  .label { font-size: 13.5px; font-weight: 600; }
  .axis { stroke: #8c959f; stroke-width: 1; fill: none; }
  .line { fill: none; stroke-width: 2; stroke-linejoin: round; }
  .line.full { stroke: #0969da; } .line.adaptive { stroke: #8250df; }
  .line.mlo { stroke: #bc4c00; } .line.uniform { stroke: #1a7f37; stroke-dasharray: 5 3; }
  .area { fill: #0969da; fill-opacity: 0.13; }
  .label.full { fill: #0969da; } .label.adaptive { fill: #8250df; }
  .label.mlo { fill: #bc4c00; } .label.uniform { fill: #1a7f37; }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3; }
    .small, .tick { fill: #9198a1; }
    .line.full { stroke: #58a6ff; } .line.adaptive { stroke: #d2a8ff; }
    .line.mlo { stroke: #ffa657; } .line.uniform { stroke: #56d364; }
    .area { fill: #58a6ff; fill-opacity: 0.18; }
    .label.full { fill: #58a6ff; } .label.adaptive { fill: #d2a8ff; }
    .label.mlo { fill: #ffa657; } .label.uniform { fill: #56d364; }
  }
""".rstrip()


def read_draws(run):
    record = json.loads((run / "run.json").read_text())
    column = next(key for key, name in record["terms"].items() if name == PARAMETER)
    draws = []
    for file in sorted(run.glob("draws-*.csv")):
        with file.open(newline="") as text:
            draws += [float(row[column]) for row in csv.DictReader(line for line in text if line[0] != "#")]
    return draws, record["summary"]


def density(draws):
    """Heights of the bins from LOW to HIGH; draws outside count in the total, so the area is theirs alone."""
    heights = [0] * round((HIGH - LOW) / BIN)
    for value in draws:
        at = math.floor((value - LOW) / BIN)
        if 0 <= at < len(heights):
            heights[at] += 1
    return [count / (len(draws) * BIN) for count in heights]


def x_of(value):
    return LEFT + (value - LOW) / (HIGH - LOW) * (RIGHT - LEFT)


def steps(heights, top):
    y_of = lambda h: BOTTOM - h / top * (BOTTOM - TOP)
    path = [f"M{x_of(LOW):.1f} {y_of(heights[0]):.1f}"]
    for k, height in enumerate(heights):
        path.append(f"V{y_of(height):.1f}H{x_of(LOW + (k + 1) * BIN):.1f}")
    return "".join(path)


def picture(results):
    densities = {name: density(draws) for name, (draws, _) in results.items()}
    top = 1.04 * max(max(d) for d in densities.values())
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}" '
           'role="img" aria-labelledby="t d">',
           '<title id="t">Draws of one coefficient by four methods</title>',
           '<desc id="d">Histograms on one axis: the draws of exact are narrow; those of mlo-adaptive, mlo and uniform '
           'have the same centre and are several times wider.</desc>',
           f"<style>{STYLE}\n</style>",
           f'<text class="title" x="{LEFT}" y="28">Subsampled chains find the place, not the spread</text>',
           f'<text class="small" x="{LEFT}" y="49">Draws of one coefficient, logistic regression, '
           f'{ROWS:,} rows, default proposals</text>']
    ticks = [0.88 + 0.02 * k for k in range(12)]
    for tick in ticks:
        out.append(f'<path class="axis" d="M{x_of(tick):.1f} {BOTTOM}v5"/>')
        out.append(f'<text class="tick" x="{x_of(tick):.1f}" y="{BOTTOM + 21}">{tick:.2f}</text>')
    out.append(f'<path class="axis" d="M{LEFT} {BOTTOM}H{RIGHT}"/>')
    out.append(f'<text class="small" x="{(LEFT + RIGHT) / 2}" y="{BOTTOM + 45}" text-anchor="middle">'
               f'coefficient of {PARAMETER}</text>')
    full = steps(densities["full"], top)
    out.append(f'<path class="area" d="{full}V{BOTTOM}H{x_of(LOW):.1f}Z"/>')
    for name, _, _, _, style in reversed(RUNS):
        out.append(f'<path class="line {style}" d="{steps(densities[name], top)}"/>')
    reference = results["full"][1]["parameters"][PARAMETER]["sd"]
    for k, (name, _, label, note, style) in enumerate(RUNS):
        sd = results[name][1]["parameters"][PARAMETER]["sd"]
        y = TOP + 14 + 60 * k
        ratio = "" if name == "full" else f", {sd / reference:.1f} times exact"
        out.append(f'<path class="line {style}" d="M514 {y - 5}H540"/>')
        out.append(f'<text class="label {style}" x="550" y="{y}">{label}</text>')
        out.append(f'<text class="small" x="550" y="{y + 17}">{note}</text>')
        out.append(f'<text class="small" x="550" y="{y + 32}">sd {sd:.4f}{ratio}</text>')
    out.append("</svg>\n")
    return "\n".join(out)


def main():
    if len(sys.argv) != 3:
        sys.exit("usage: make_noise_svg.py MLO OUTPUT.svg")
    mlo, output = str(Path(sys.argv[1]).resolve()), Path(sys.argv[2])
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        data = folder / "data.csv"
        subprocess.run([mlo, "simulate", "logistic", "--rows", str(ROWS), "--coefficients", "1,0.5", "--seed", "1",
                        "--out", str(data)], check=True)
        results = {}
        for run, options, *_ in RUNS:
            subprocess.run([mlo, "fit", str(data), *FIT, *options, "--out", str(folder / run)], check=True,
                           stdout=subprocess.DEVNULL)
            results[run] = read_draws(folder / run)
    output.write_text(picture(results))


main()
