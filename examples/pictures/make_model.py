"""Makes cnn.onnx: three convolutions, each followed by a pool, and a dense layer, for pictures of 3 x 32 x 32.

    make_model.py [OUTPUT]
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from layers import Layers
from onnx_writer import FLOAT

CLASSES = 6


def main():
    layers = Layers("cnn")
    x, inputs = layers.model.input("x", FLOAT, ["N", 3, 32, 32]), 3
    for index, outputs in enumerate((16, 32, 32), 1):
        x = layers.relu(f"conv{index}", layers.conv(f"conv{index}", x, inputs, outputs, size=3))
        x, inputs = layers.max_pool(f"pool{index}", x), outputs
    x = layers.add("Flatten", "flatten", [x], axis=1)
    layers.save(layers.dense("fc", x, 32 * 4 * 4, CLASSES), CLASSES, sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "cnn.onnx"))


if __name__ == "__main__":
    main()
