"""Derivatives with respect to computed values that a rewrite would bypass or merge with equal values, compiled and by the evaluator.

    gradient_targets.py
"""
import array
import math
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bars"))
from bar import gradc, read_npy, scratch, write_npy
from onnx_writer import FLOAT, INT64, Model

X = [1.0, 2.0, 3.0]
model = Model("targets", opset=20)
x = model.input("x", FLOAT, [3])
expected = {}


def node(op, inputs, output, **attributes):
    return model.node(op, inputs, [output], output, **attributes)


def ints(name, values):
    return model.initializer(name, INT64, [len(values)], values)


def expect(objective, **targets):
    """Asks for the derivatives of the objective's sum; `targets`: name to numbers, flattened."""
    names = list(targets)
    results = [f"d{objective}_d{name}" for name in names]
    y = node("ReduceSum", [objective], objective + ".sum", keepdims=0)
    model.node("Gradient", names, results, objective + ".gradient", domain="ai.onnx.preview.training", xs=names, y=y)
    for result, numbers in zip(results, targets.values()):
        model.output(result, FLOAT, None)
        expected[result] = list(numbers)


one = model.initializer("one", FLOAT, [], [1.0])
expect(node("Neg", [node("Neg", [x], "negative")], "positive"), negative=[-1] * 3)
expect(node("Add", [x, node("Neg", [x], "opposite")], "nothing"), opposite=[1] * 3)
expect(node("Mul", [node("Mul", [x, one], "same"), x], "squares"), same=X, x=[2 * v for v in X])
node("Identity", [x], "a")
node("Identity", [x], "b")
expect(node("Mul", ["a", node("Mul", ["b", "b"], "bb")], "cubes"), a=[v * v for v in X], b=[2 * v * v for v in X])
expect(node("Relu", [node("Expand", [x, ints("rows", [2, 3])], "repeated")], "positives"), repeated=[1] * 6)
node("Reshape", [x, ints("column", [3, 1])], "standing")
expect(node("Reshape", ["standing", ints("row", [1, 3])], "lying"), standing=[1] * 3)
node("Transpose", ["standing"], "turned")
expect(node("Exp", [node("Transpose", ["turned"], "turned.back")], "powers"), turned=[math.exp(v) for v in X])
node("Sin", [x], "sine")
expect(node("Mul", ["sine", node("Sin", [x], "equal")], "sines"), sine=[math.sin(v) for v in X])
node("Pow", [x, one], "power")
expect(node("Mul", ["power", x], "products"), power=X)
node("Pad", [x, ints("nothing.around", [0, 0])], "padded")
expect(node("Mul", ["padded", x], "padded.squares"), padded=X)
# A layer normalization with 1 for epsilon, by its centred values.
centred = node("Sub", [x, node("ReduceMean", [x], "mean")], "centred")
variance = node("ReduceMean", [node("Mul", [centred, centred], "deviations")], "variance")
normal = node("Div", [centred, node("Sqrt", [node("Add", [variance, one], "shifted")], "scale")], "normal")
expect(node("Mul", [normal, normal], "normal.squares"),
       centred=[2 * c / (5 / 3) - 2 * c * 2 / 3 / (5 / 3) ** 2 for c in (-1, 0, 1)])
# A gradient's result is a target like any other value.
expect(node("Mul", ["dsquares_dx", "dsquares_dx"], "slopes"), dsquares_dx=[4 * v for v in X])

folder = scratch()
path = os.path.join(folder, "targets.onnx")
model.save(path)
write_npy(os.path.join(folder, "x.npy"), array.array("f", X), (3,))
for how in ([], ["--reference"]):
    gradc("run", path, "--input", f"x={os.path.join(folder, 'x.npy')}", "--output-dir", folder, *how)
    for name, numbers in expected.items():
        with open(os.path.join(folder, name + ".npy"), "rb") as file:
            _, found = read_npy(file.read())
        assert len(found) == len(numbers), f"{name}: {found}"
        assert all(abs(a - b) < 1e-5 for a, b in zip(found, numbers)), f"{name}: {found}, expected {numbers}"
    print(f"{len(expected)} derivatives {' '.join(how) or 'compiled'}")
