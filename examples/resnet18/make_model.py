"""Makes resnet18.onnx: ResNet-18 as exporters write it (batch normalization in inference form, training_mode=0), an eighth as
wide, for pictures of 3 x 24 x 24.

    make_model.py [OUTPUT]
"""
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
from layers import Layers
from onnx_writer import FLOAT

WIDTH, CLASSES = 8, 10


def conv_norm(layers, conv, norm, x, inputs, outputs, size, stride=1):
    return layers.batch_norm(norm, layers.conv(conv, x, inputs, outputs, size, stride, bias=False), outputs)


def block(layers, name, x, inputs, outputs, stride):
    """Two convolutions with a shortcut for the input, which is projected if the shapes differ."""
    y = layers.relu(f"{name}/relu", conv_norm(layers, f"{name}.conv1", f"{name}.bn1", x, inputs, outputs, 3, stride))
    y = conv_norm(layers, f"{name}.conv2", f"{name}.bn2", y, outputs, outputs, 3)
    if stride != 1 or inputs != outputs:
        x = conv_norm(layers, f"{name}.downsample.0", f"{name}.downsample.1", x, inputs, outputs, 1, stride)
    return layers.relu(f"{name}/relu_1", layers.add("Add", name, [y, x]))


def main():
    layers = Layers("resnet18")
    x = conv_norm(layers, "conv1", "bn1", layers.model.input("x", FLOAT, ["N", 3, 24, 24]), 3, WIDTH, 7, stride=2)
    x = layers.max_pool("maxpool", layers.relu("relu", x), size=3, padding=1)
    inputs = WIDTH
    for stage in range(4):
        outputs = WIDTH << stage
        for index in range(2):
            stride = 2 if stage and not index else 1
            x = block(layers, f"layer{stage + 1}.{index}", x, inputs, outputs, stride)
            inputs = outputs
    x = layers.add("Flatten", "flatten", [layers.add("GlobalAveragePool", "avgpool", [x])], axis=1)
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "resnet18.onnx")
    layers.save(layers.dense("fc", x, inputs, CLASSES), CLASSES, path)


if __name__ == "__main__":
    main()
