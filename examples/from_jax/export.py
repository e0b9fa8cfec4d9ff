"""Exports a Flax model in training form: batch normalization and dropout are kept, and weights are named by their paths.

    export.py [OUTPUT]
"""
import os
import sys

import jax2onnx
import numpy as np
import onnx
from flax import nnx

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import exported


class Net(nnx.Module):
    """A small convolutional network for pictures of 8 x 8."""

    def __init__(self, rngs):
        self.conv1 = nnx.Conv(1, 8, (3, 3), rngs=rngs)
        self.norm1 = nnx.BatchNorm(8, momentum=0.9, rngs=rngs)
        self.conv2 = nnx.Conv(8, 16, (3, 3), rngs=rngs)
        self.norm2 = nnx.BatchNorm(16, momentum=0.9, rngs=rngs)
        self.dropout = nnx.Dropout(0.1, rngs=rngs)
        self.head = nnx.Linear(64, 10, rngs=rngs)

    def __call__(self, image):
        x = image[..., None]
        for conv, norm in (self.conv1, self.norm1), (self.conv2, self.norm2):
            x = nnx.max_pool(nnx.relu(norm(conv(x))), window_shape=(2, 2), strides=(2, 2))
        return self.head(self.dropout(x.reshape(x.shape[0], -1)))


def export(model, inputs, path):
    """The single call. `inputs`: shapes, with "batch" for the batch."""
    model.eval()  # jax2onnx knows no other BatchNorm; Dropout is exported as well
    leaves = nnx.to_flat_state(nnx.state(model, (nnx.Param, nnx.BatchStat)))
    values = {".".join(map(str, keys)): np.asarray(leaf[...]) for keys, leaf in leaves}
    marked = exported.markers(values)

    def assign(arrays):
        for (_, leaf), array in zip(leaves, arrays.values()):
            leaf[...] = array
        nnx.update(model, nnx.from_flat_state(leaves))

    assign(marked)
    proto = jax2onnx.to_onnx(model, inputs, opset=23, input_names=["image"], output_names=["logits"])
    assign(values)
    exported.restore(proto, values, marked)
    onnx.save(proto, path)


if __name__ == "__main__":
    export(Net(nnx.Rngs(0)), [("batch", 8, 8)], sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "net.onnx"))
