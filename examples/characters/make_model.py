"""Makes next.onnx: a dense network 8 x 128 - 64 - 128 from eight one-hot characters to scores of the next one.

    make_model.py [OUTPUT]
"""
import math
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "test"))
from onnx_writer import FLOAT, Model

WINDOW, CHARACTERS, HIDDEN = 8, 128, 64


def main():
    numbers = random.Random(1)
    model = Model("next-character")
    value = model.node("Flatten", [model.input("x", FLOAT, ["N", WINDOW, CHARACTERS])], ["flat"], "flatten")
    # One input per position is 1 and the others are 0, so the number of active inputs is the window's length.
    for layer, (rows, columns, scale) in enumerate([(WINDOW * CHARACTERS, HIDDEN, math.sqrt(2 / WINDOW)),
                                                    (HIDDEN, CHARACTERS, math.sqrt(1 / HIDDEN))], 1):
        weight = model.initializer(f"fc{layer}.weight", FLOAT, [columns, rows],
                                   [numbers.gauss(0, scale) for _ in range(rows * columns)])
        bias = model.initializer(f"fc{layer}.bias", FLOAT, [columns], [0.0] * columns)
        value = model.node("Gemm", [value, weight, bias], ["fc1.out" if layer == 1 else "logits"], f"fc{layer}", transB=1)
        if layer == 1:
            value = model.node("Relu", [value], ["relu1.out"], "relu1")
    model.output(value, FLOAT, ["N", CHARACTERS])
    model.save(sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "next.onnx"))


if __name__ == "__main__":
    main()
