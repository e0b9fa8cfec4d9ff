"""Writes lists.parquet, with each kind of column of lists, in two row groups; and lists.csv, the same rows as text, each value of a list in
a column of its own. Needs pyarrow.

    make_lists_parquet.py FOLDER
"""
import csv
import os
import random
import sys

import pyarrow
import pyarrow.parquet

ROWS = 60
numbers = random.Random(11)


def lists(length, value):
    return [[value() for _ in range(length)] for _ in range(ROWS)]


def with_gap(values, row):
    values[row] = None
    return values


def kind_of(row):
    return "high" if row[0] + row[1] > 1 else "low"


place = lists(3, numbers.random)
columns = {
    "place": pyarrow.array(place, pyarrow.list_(pyarrow.float32())),
    "pixels": pyarrow.array(lists(4, lambda: numbers.randrange(256)), pyarrow.large_list(pyarrow.int16())),
    "embedding": pyarrow.array(lists(8, lambda: numbers.gauss(0, 1)), pyarrow.list_(pyarrow.float64(), 8)),
    "flags": pyarrow.array(lists(2, lambda: numbers.random() < 0.5), pyarrow.list_(pyarrow.bool_())),
    "one": pyarrow.array(lists(1, lambda: numbers.randrange(9))),
    "gaps": pyarrow.array(with_gap([[row, None if row == 7 else row / 2] for row in range(ROWS)], 0), pyarrow.list_(pyarrow.float64())),
    "words": pyarrow.array(lists(2, lambda: numbers.choice(['a, "b"', "c"]))),
    "ragged": pyarrow.array([[1.0, 2.0][:1 if row == 45 else 2] for row in range(ROWS)]),
    "empty": pyarrow.array([[] for _ in range(ROWS)], pyarrow.list_(pyarrow.float32())),
    "nested": pyarrow.array([[[1.0]] for _ in range(ROWS)]),
    "pairs": pyarrow.array([[{"x": 1.0, "y": 2.0}] for _ in range(ROWS)]),
    "kind": pyarrow.array([kind_of(row) for row in place]),
}
pyarrow.parquet.write_table(pyarrow.table(columns), os.path.join(sys.argv[1], "lists.parquet"), row_group_size=40)


def text(name, value):
    """In the form of CSV files."""
    if value is None or isinstance(value, str):
        return value
    return f"{value:.9g}" if name == "place" else int(value) if isinstance(value, bool) else value


width = {"place": 3, "pixels": 4, "embedding": 8, "flags": 2, "one": 1, "gaps": 2, "words": 2, "kind": 0}
with open(os.path.join(sys.argv[1], "lists.csv"), "w", newline="") as file:
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(name if size == 0 else f"{name}[{i}]" for name, size in width.items() for i in range(max(size, 1)))
    for row in zip(*(columns[name].to_pylist() for name in width)):
        cells = []
        for (name, size), value in zip(width.items(), row):
            cells += [text(name, one) for one in (value or [None] * size)] if size else [value]
        writer.writerow(cells)
