"""Means, norms, pools and losses of f16 whose values in between exceed f16 or vanish in it: compiled, the values and gradients of the
same model in f32; evaluated, its values.

    short_floats.py
"""
import math
import os
import random
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, path
from bar import gradc
from onnx_writer import FLOAT, FLOAT16, INT64, PACK, Model

WITHIN = 4e-3  # of the largest number of a tensor, beside a step of f16's smallest numbers
SMALLEST = 2.0**-24
numbers = random.Random(5)


def short(values):
    """The nearest numbers of f16."""
    return list(struct.unpack(f"<{len(values)}e", struct.pack(f"<{len(values)}e", *values)))


def near(middle, spread, *dims):
    return dims, short([middle + numbers.uniform(-spread, spread) for _ in range(math.prod(dims))])


class Case:
    """A node `op` of x and perhaps constants, (type, dims, values) each; a type of None is that of x."""

    def __init__(self, op, x, result, *constants, repeats=1, before=None, **attributes):
        self.op, (self.dims, self.x), self.result, self.constants = op, x, result, constants
        self.repeats, self.before, self.attributes = repeats, before, attributes
        self.weights = short([numbers.uniform(-0.5, 0.5) for _ in range(math.prod(result))])

    def save(self, kind, slopes):
        model = Model(self.op, opset=18)
        x = operand = model.input("x", kind, self.dims)
        if self.before:
            operand = model.node("Expand", [x, model.initializer("shape", INT64, [len(self.before)], self.before)], ["wide"], "repeat")
        given = [model.initializer(f"c{i}", own or kind, dims, values) for i, (own, dims, values) in enumerate(self.constants)]
        y = model.node(self.op, [operand] * self.repeats + given, ["y"], "node", **self.attributes)
        model.output("y", kind, self.result)
        if slopes:
            weighted = model.node("Mul", [y, model.initializer("w", kind, self.result, self.weights)], ["weighted"], "weigh")
            total = model.node("ReduceSum", [weighted], ["total"], "total", keepdims=0)
            model.node("Gradient", [x], ["dx"], "slope", domain="ai.onnx.preview.training", xs=["x"], y=total)
            model.output("dx", kind, self.dims)
        model.save(path("model.onnx"))

    def run(self, kind, slopes, *how):
        """The elements of y and, with `slopes`, of dx."""
        self.save(kind, slopes)
        header = f"{{'descr': '<f{struct.calcsize(PACK[kind])}', 'fortran_order': False, 'shape': {tuple(self.dims)}, }}"
        with open(path("x.npy"), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.ljust(117).encode() + b"\n")
            file.write(struct.pack(f"<{len(self.x)}{PACK[kind]}", *self.x))
        gradc("run", path("model.onnx"), "--input", f"x={path('x.npy')}", "--output-dir", path("out"), *how)
        return [read(name, PACK[kind]) for name in ("y", "dx")[:1 + slopes]]

    def check(self):
        expected = self.run(FLOAT, True)
        for slopes, *how in [True], [False, "--reference"]:
            for name, wide, found in zip(("y", "dx"), expected, self.run(FLOAT16, slopes, *how)):
                scale = max(abs(value) for value in wide)
                expect(f"{self.op} {name}: no numbers to compare, {scale}", 0 < scale < 65504)
                worst = max(zip(wide, found), key=lambda pair: math.inf if math.isnan(pair[1]) else abs(pair[0] - pair[1]))
                expect(f"{self.op} {self.attributes} {' '.join(how)} {name}: {worst[1]}, expected {worst[0]}",
                       len(wide) == len(found) and abs(worst[0] - worst[1]) <= WITHIN * scale + SMALLEST)


def read(name, letter):
    with open(path(f"out/{name}.npy"), "rb") as file:
        data = file.read()
    data = data[10 + struct.unpack("<H", data[8:10])[0]:]
    return struct.unpack(f"<{len(data) // struct.calcsize(letter)}{letter}", data)


def cases():
    one = (None, [1], [1.0])
    two = (None, [2], [1.0, 0.5])
    labels = (INT64, [2], [1, 69999])
    yield Case("ReduceSum", ([1, 2], short([0.0, 0.01])), [2], (INT64, [1], [0]), before=[70000, 2], keepdims=0)
    yield Case("ReduceMean", near(100, 9, 2000), [1])
    yield Case("ReduceL2", near(0, 1000, 50), [1])
    yield Case("ReduceSumSquare", near(0, 2e-4, 4000), [1])
    yield Case("ReduceLogSum", near(100, 9, 1000), [1])
    yield Case("ReduceLogSumExp", near(0, 0.01, 70000), [1])
    yield Case("ReduceProd", ([4], short([1000, 500, 1e-3, 2e-3])), [1])
    yield Case("Mean", near(50000, 9000, 20), [20], repeats=3)
    yield Case("GlobalAveragePool", near(100, 9, 1, 2, 32, 32), [1, 2, 1, 1])
    yield Case("GlobalLpPool", near(0, 1000, 1, 2, 32), [1, 2, 1])
    yield Case("AveragePool", near(100, 9, 1, 2, 64, 64), [1, 2, 2, 2], kernel_shape=[32, 32], strides=[32, 32])
    yield Case("AveragePool", near(100, 9, 1, 2, 64, 64), [1, 2, 5, 5], kernel_shape=[28, 28], strides=[9, 9])
    yield Case("LpPool", near(0, 1000, 1, 2, 16), [1, 2, 4], kernel_shape=[4], strides=[4])
    yield Case("LpPool", near(0, 1000, 1, 2, 16), [1, 2, 13], kernel_shape=[4], p=3)
    yield Case("InstanceNormalization", near(0, 1000, 1, 2, 16), [1, 2, 16], two, two)
    yield Case("GroupNormalization", near(0, 1000, 1, 4, 4), [1, 4, 4], one, one, num_groups=1)
    yield Case("MeanVarianceNormalization", near(0, 1000, 2, 16), [2, 16], axes=[1])
    yield Case("LpNormalization", near(0, 1000, 2, 16), [2, 16], axis=1)
    yield Case("LRN", near(300, 100, 1, 4, 2, 2), [1, 4, 2, 2], size=3)
    yield Case("Softmax", near(0, 0.01, 1, 70000), [1, 70000])
    yield Case("LogSoftmax", near(0, 0.01, 1, 70000), [1, 70000])
    yield Case("SoftmaxCrossEntropyLoss", near(0, 0.01, 2, 70000), [], labels)
    yield Case("SoftmaxCrossEntropyLoss", ([8000, 2], [0.0, 10.0] * 8000), [], (INT64, [8000], [0] * 8000), two)


def main():
    for case in cases():
        case.check()


main()
