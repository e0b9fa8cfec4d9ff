"""Makes cnn.onnx: a small version of the usual network for CIFAR pictures, with two convolutions and a pool, twice, then two dense layers,
for pictures of 3 x 24 x 24.

    make_model.py [OUTPUT]
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from layers import Layers
from onnx_writer import FLOAT


def main():
    layers = Layers("cnn")
    x, inputs = layers.model.input("x", FLOAT, ["N", 3, 24, 24]), 3
    for index, outputs in enumerate((8, 8, 16, 16), 1):
        x = layers.relu(f"conv{index}", layers.conv(f"conv{index}", x, inputs, outputs, size=3))
        inputs = outputs
        if index % 2 == 0:
            x = layers.max_pool(f"pool{index // 2}", x)
    x = layers.add("Flatten", "flatten", [x], axis=1)
    x = layers.relu("fc1", layers.dense("fc1", x, 16 * 6 * 6, 64))
    layers.save(layers.dense("fc2", x, 64, 10), 10, sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "cnn.onnx"))


if __name__ == "__main__":
    main()
