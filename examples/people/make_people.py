#!/usr/bin/env python3
# Copyright (c) the mlo authors. BSD-3-Clause.
"""Writes people.csv and new_people.csv, which docs/tutorial.md uses: invented people with some columns of the census file
"Adult" (https://archive.ics.uci.edu/dataset/2/adult), drawn from a logistic model whose coefficients are below.

    examples/people/make_people.py FOLDER
"""
import csv
import math
import os
import random
import sys

LEVELS = {  # level: share, coefficient
    "workclass": {"Private": (0.74, 0), "Self-emp": (0.12, -0.3), "Government": (0.14, 0.2)},
    "education": {"HS-grad": (0.45, 0), "Some-college": (0.25, 0.4), "Bachelors": (0.2, 1.2), "Masters": (0.08, 1.6),
                  "Doctorate": (0.02, 2.2)},
    "marital_status": {"Never-married": (0.35, -0.6), "Married": (0.47, 1.8), "Divorced": (0.18, 0)},
    "occupation": {"Clerical": (0.18, 0), "Craft": (0.22, 0), "Managerial": (0.2, 0.8), "Professional": (0.18, 0.6),
                   "Service": (0.22, -0.9)},
    "sex": {"Female": (0.4, 0), "Male": (0.6, 0.15)},
}
MISSING = {"workclass": 0.03, "occupation": 0.05}


def person(source):
    row = {"age": min(90, max(17, round(source.gauss(39, 13))))}
    eta = -4.4 + 0.025 * row["age"]
    for name, levels in LEVELS.items():
        row[name] = source.choices(list(levels), [share for share, _ in levels.values()])[0]
        eta += levels[row[name]][1]
    row["capital_gain"] = round(math.exp(source.gauss(8.5, 1))) if source.random() < 0.08 else 0
    row["hours_per_week"] = min(99, max(1, round(source.gauss(40, 11))))
    eta += 0.2 * math.log1p(row["capital_gain"]) + 0.03 * (row["hours_per_week"] - 40)
    row["income_over_50k"] = int(source.random() < 1 / (1 + math.exp(-eta)))
    for name, share in MISSING.items():
        if source.random() < share:
            row[name] = "NA"
    return row


def write(path, rows):
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    folder = sys.argv[1]
    source = random.Random(1)
    write(os.path.join(folder, "people.csv"), [person(source) for _ in range(1500)])
    new = [person(source) for _ in range(40)]
    for row in new:
        del row["income_over_50k"]
    write(os.path.join(folder, "new_people.csv"), new)


if __name__ == "__main__":
    main()
