"""Makes mlp.onnx: an MLP 64-128-64-10 over pictures of 8 x 8, He-initialized.

    make_model.py [OUTPUT]
"""
import math
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "test"))
from onnx_writer import FLOAT, Model


def main():
    numbers = random.Random(1)
    model = Model("digits")
    value = model.node("Flatten", [model.input("x", FLOAT, ["N", 8, 8])], ["flat"], "flatten")
    widths = [64, 128, 64, 10]
    for layer, (rows, columns) in enumerate(zip(widths, widths[1:]), 1):
        scale = math.sqrt(2 / rows)
        weight = model.initializer(f"fc{layer}.weight", FLOAT, [columns, rows],
                                   [numbers.gauss(0, scale) for _ in range(rows * columns)])
        bias = model.initializer(f"fc{layer}.bias", FLOAT, [columns], [0.0] * columns)
        last = layer == len(widths) - 1
        value = model.node("Gemm", [value, weight, bias], ["logits" if last else f"fc{layer}.out"], f"fc{layer}",
                           transB=1)
        if not last:
            value = model.node("Relu", [value], [f"relu{layer}.out"], f"relu{layer}")
    model.output(value, FLOAT, ["N", 10])
    model.save(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "mlp.onnx"))


if __name__ == "__main__":
    main()
