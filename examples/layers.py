"""Shared by the examples' model generators: layers with random weights, named like in PyTorch's exporter (opset 17)."""
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "test"))
from onnx_writer import FLOAT, INT64, Model


class Layers:
    """A model under construction. Each method adds nodes after tensor `x` and returns the name of their result; weights
    are He-initialized from the seed, biases zero."""

    def __init__(self, name, seed=1):
        self.model, self.numbers = Model(name), random.Random(seed)

    def add(self, op, layer, inputs, **attributes):
        return self.model.node(op, inputs, [f"/{layer}/{op}_output_0"], f"/{layer}/{op}", **attributes)

    def normal(self, name, shape):
        scale = math.sqrt(2 / math.prod(shape[1:]))
        return self.model.initializer(name, FLOAT, shape, [self.numbers.gauss(0, scale) for _ in range(math.prod(shape))])

    def constant(self, name, size, value):
        return self.model.initializer(name, FLOAT, [size], [value] * size)

    def conv(self, layer, x, inputs, outputs, size, stride=1, bias=True):
        """Padded so that stride 1 keeps the size."""
        operands = [x, self.normal(f"{layer}.weight", [outputs, inputs, size, size])]
        if bias:
            operands.append(self.constant(f"{layer}.bias", outputs, 0.0))
        return self.add("Conv", layer, operands, dilations=[1, 1], group=1, kernel_shape=[size, size], pads=[size // 2] * 4,
                        strides=[stride, stride])

    def batch_norm(self, layer, x, channels):
        parts = (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0))
        operands = [self.constant(f"{layer}.{part}", channels, value) for part, value in parts]
        return self.add("BatchNormalization", layer, [x, *operands], epsilon=1e-5, momentum=0.9, training_mode=0)

    def relu(self, layer, x):
        return self.add("Relu", layer, [x])

    def max_pool(self, layer, x, size=2, padding=0):
        """With stride 2."""
        return self.add("MaxPool", layer, [x], ceil_mode=0, dilations=[1, 1], kernel_shape=[size, size], pads=[padding] * 4,
                        strides=[2, 2])

    def dense(self, layer, x, inputs, outputs):
        operands = [x, self.normal(f"{layer}.weight", [outputs, inputs]), self.constant(f"{layer}.bias", outputs, 0.0)]
        return self.add("Gemm", layer, operands, alpha=1.0, beta=1.0, transB=1)

    def save(self, logits, classes, path):
        self.model.output(self.model.node("Identity", [logits], ["logits"], "/Identity"), FLOAT, ["N", classes])
        self.model.save(path)


def save_lenet(classes, path):
    """Two convolutions, each followed by a pool, and two dense layers, for pictures of 8 x 8."""
    layers = Layers("lenet")
    axis = layers.model.initializer("channel_axis", INT64, [1], [1])
    x = layers.add("Unsqueeze", "channel", [layers.model.input("x", FLOAT, ["N", 8, 8]), axis])
    x = layers.relu("conv1", layers.conv("conv1", x, 1, 16, size=5))
    x = layers.max_pool("pool1", x)
    x = layers.relu("conv2", layers.conv("conv2", x, 16, 32, size=3))
    x = layers.max_pool("pool2", x)
    x = layers.add("Flatten", "flatten", [x], axis=1)
    x = layers.relu("fc1", layers.dense("fc1", x, 32 * 2 * 2, 64))
    layers.save(layers.dense("fc2", x, 64, classes), classes, path)
