"""Writes mlp.onnx: a dense network 8-32-16-1 with new weights; its score is above 0 for a fraud. Needs only the standard library: python3
make_model.py"""
import math
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "test"))
from onnx_writer import FLOAT, Model

WIDTHS = (8, 32, 16, 1)


def main():
    numbers = random.Random(1)
    model = Model("imbalanced")
    value = model.input("x", FLOAT, ["N", WIDTHS[0]])
    for layer, (rows, columns) in enumerate(zip(WIDTHS, WIDTHS[1:]), 1):
        weight = model.initializer(f"fc{layer}.weight", FLOAT, [columns, rows],
                                   [numbers.gauss(0, math.sqrt(2 / rows)) for _ in range(rows * columns)])
        bias = model.initializer(f"fc{layer}.bias", FLOAT, [columns], [0.0] * columns)
        is_last = layer == len(WIDTHS) - 1
        value = model.node("Gemm", [value, weight, bias], ["score" if is_last else f"fc{layer}.out"], f"fc{layer}", transB=1)
        if not is_last:
            value = model.node("Relu", [value], [f"relu{layer}.out"], f"relu{layer}")
    model.output(value, FLOAT, ["N", 1])
    model.save(os.path.join(HERE, "mlp.onnx"))


main()
