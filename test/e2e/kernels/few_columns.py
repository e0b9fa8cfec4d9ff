"""A convolution of one filter, compiled for a batch and run on any number of rows, equals sums in Python.

    few_columns.py
"""
import array
import ctypes
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import Session, expect, path
from bar import gradc
from onnx_writer import FLOAT, Model

ROWS, CHANNELS, SIZE, TAPS = 6, 16, 24, 5
numbers = random.Random(9)


def draw(count, scale):
    return array.array("f", (numbers.gauss(0, scale) for _ in range(count)))


x, w = draw(ROWS * CHANNELS * SIZE * SIZE, 1), draw(CHANNELS * TAPS * TAPS, 0.05)


def build():
    model = Model("head")
    given = model.input("x", FLOAT, ["N", CHANNELS, SIZE, SIZE])
    filters = model.initializer("w", FLOAT, [1, CHANNELS, TAPS, TAPS], w)
    bias = model.initializer("b", FLOAT, [1], [0.25])
    y = model.node("Conv", [given, filters, bias], ["c"], "conv", pads=[2, 1, 2, 1])
    model.output(model.node("Sigmoid", [y], ["y"], "sigmoid"), FLOAT, ["N", 1, SIZE, SIZE - 2])
    model.save(path("head.onnx"))
    gradc("compile", path("head.onnx"), "--shape", f"x={ROWS}x{CHANNELS}x{SIZE}x{SIZE}", "--emit=so", "-o", path("head.so"))


def expected(row, i, j):
    total = 0.25
    for c in range(CHANNELS):
        for a in range(TAPS):
            for b in range(TAPS):
                if 0 <= i + a - 2 < SIZE and 0 <= j + b - 1 < SIZE:
                    total += x[((row * CHANNELS + c) * SIZE + i + a - 2) * SIZE + j + b - 1] * w[(c * TAPS + a) * TAPS + b]
    return 1 / (1 + math.exp(-total))


build()
session = Session(path("head.so"))
entry = session.entry("forward")
for rows in (1, 5, ROWS):
    result = array.array("f", [math.nan] * (rows * SIZE * (SIZE - 2)))
    inputs = (ctypes.c_void_p * 1)(x.buffer_info()[0])
    outputs = (ctypes.c_void_p * 1)(result.buffer_info()[0])
    session.call("run_rows", session.session, entry, ctypes.c_int64(rows), inputs, 1, outputs, 1)
    places = [(row, i, j) for row in {0, rows - 1} for i in (0, 1, 11, SIZE - 2, SIZE - 1) for j in (0, 1, 2, 13, SIZE - 4, SIZE - 3)]
    errors = [abs(result[(row * SIZE + i) * (SIZE - 2) + j] - expected(row, i, j)) for row, i, j in places]
    expect(f"{rows} rows: off by {max(errors):.1e}", max(errors) < 1e-5)
