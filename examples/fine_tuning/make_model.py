"""Makes fresh.onnx, the network of ../lenet for five classes. pretrain.textproto makes pretrained.onnx of it:

    make_model.py [OUTPUT]
    gradc train pretrain.textproto
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from layers import Layers
from onnx_writer import FLOAT, INT64


def main():
    layers = Layers("lenet")
    axis = layers.model.initializer("channel_axis", INT64, [1], [1])
    x = layers.add("Unsqueeze", "channel", [layers.model.input("x", FLOAT, ["N", 8, 8]), axis])
    x = layers.relu("conv1", layers.conv("conv1", x, 1, 16, size=5))
    x = layers.max_pool("pool1", x)
    x = layers.relu("conv2", layers.conv("conv2", x, 16, 32, size=3))
    x = layers.max_pool("pool2", x)
    x = layers.add("Flatten", "flatten", [x], axis=1)
    x = layers.relu("fc1", layers.dense("fc1", x, 32 * 2 * 2, 64))
    layers.save(layers.dense("fc2", x, 64, 5), 5, sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "fresh.onnx"))


if __name__ == "__main__":
    main()
