"""The inputs of control-flow.mlir, and checks of its results.

    control_flow.py inputs DIR
    control_flow.py check DIR COUNT
"""
import array
import os
import struct
import sys

ROWS, COLUMNS, MOST = 4, 16, 3
X = [[(-1 if i % 2 else 1) * (i + c + 1.0) for c in range(COLUMNS)] for i in range(ROWS)]


def write(path, descr, shape, values):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        values.tofile(file)


def read(folder, name, count):
    with open(os.path.join(folder, name + ".npy"), "rb") as file:
        data = file.read()
    return list(struct.unpack(f"<{count}f", data[-4 * count:]))


def check(folder, times):
    """Adds `a` of each row to itself `times` times; rows whose odd columns have the larger sum are doubled."""
    a = [[value * (1 + times) for value in row] for row in X]
    y = [value * (1 if i % 2 else 2) for i in range(ROWS) for value in a[i]]
    assert read(folder, "y", ROWS * COLUMNS) == y
    assert read(folder, "last", COLUMNS) == y[-COLUMNS:]
    history = read(folder, "history", ROWS * MOST * COLUMNS)
    for i in range(ROWS):
        for j in range(times):  # what lies behind was not written
            at = (i * MOST + j) * COLUMNS
            assert history[at:at + COLUMNS] == [value * (j + 2) for value in X[i]], (i, j)
    assert read(folder, "sum", COLUMNS) == [1 + sum(y[c::COLUMNS]) for c in range(COLUMNS)]


folder = sys.argv[2]
if sys.argv[1] == "inputs":
    os.makedirs(folder, exist_ok=True)
    write(os.path.join(folder, "x.npy"), "<f4", (ROWS, COLUMNS), array.array("f", sum(X, [])))
    for name, count in [("below", -1), ("1", 1), ("2", 2), ("3", 3), ("4", 4)]:
        write(os.path.join(folder, name + ".npy"), "<i4", (), array.array("i", [count]))
else:
    check(folder, int(sys.argv[3]))
