"""Exports a Keras model in training form: batch normalization and dropout are kept, and weights are named by their paths.

    export.py [MODEL.keras] [OUTPUT]

A model that was saved with any backend is loaded with PyTorch's, which writes ONNX."""
import contextlib
import os
import sys

os.environ["KERAS_BACKEND"] = "torch"
os.environ["CUDA_VISIBLE_DEVICES"] = ""  # so that example and weights are on one device

import keras
import onnx
import torch
from keras import layers

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import exported


def net():
    """A small convolutional network for pictures of 8 x 8."""
    return keras.Sequential([
        keras.Input((8, 8), name="image"), layers.Reshape((8, 8, 1)),
        layers.Conv2D(8, 3, padding="same", name="conv1"), layers.BatchNormalization(name="norm1", momentum=0.9),
        layers.ReLU(), layers.MaxPooling2D(),
        layers.Conv2D(16, 3, padding="same", name="conv2"), layers.BatchNormalization(name="norm2", momentum=0.9),
        layers.ReLU(), layers.MaxPooling2D(),
        layers.Flatten(), layers.Dropout(0.1), layers.Dense(10, name="head")])


def normalize(self, inputs, training=None, mask=None):
    """A single PyTorch op, which becomes a single ONNX op; Keras's own call leaves arithmetic with frozen statistics."""
    rank = len(inputs.shape)
    order = list(range(rank))
    order.insert(1, order.pop(self.axis))
    result = torch.nn.functional.batch_norm(
        inputs.permute(order), self.moving_mean.value, self.moving_variance.value,
        self.gamma.value if self.scale else None, self.beta.value if self.center else None,
        training=False, momentum=1 - self.momentum, eps=self.epsilon)
    return result.permute([order.index(axis) for axis in range(rank)])


def drop(self, inputs, training=None):
    return torch.nn.functional.dropout(inputs, self.rate, training=True)


@contextlib.contextmanager
def trainable_layers():
    own = layers.BatchNormalization.call, layers.Dropout.call
    layers.BatchNormalization.call, layers.Dropout.call = normalize, drop
    try:
        yield
    finally:
        layers.BatchNormalization.call, layers.Dropout.call = own


def export(model, path, outputs):
    """The single call. `outputs`: the ONNX names of the model's outputs."""
    variables = {v.path: v for v in model.variables if "seed_generator" not in v.path}
    values = {name: keras.ops.convert_to_numpy(v).copy() for name, v in variables.items()}
    marked = exported.markers(values)
    examples = tuple(torch.zeros([2 if dim is None else dim for dim in each.shape]) for each in model.inputs)
    for name, variable in variables.items():
        variable.assign(marked[name])
    with trainable_layers():
        torch.onnx.export(model, examples, path, dynamo=True, optimize=False, external_data=False,
                          dynamic_shapes=(tuple({0: "batch"} for _ in examples),),
                          input_names=[each.name for each in model.inputs], output_names=outputs)
    for name, variable in variables.items():
        variable.assign(values[name])
    proto = onnx.load(path)
    exported.restore(proto, values, marked)
    exported.drop_paths(proto)
    onnx.save(proto, path)


if __name__ == "__main__":
    keras.utils.set_random_seed(0)
    saved = [each for each in sys.argv[1:] if each.endswith(".keras")]
    output = [each for each in sys.argv[1:] if each.endswith(".onnx")] or [os.path.join(HERE, "net.onnx")]
    export(keras.saving.load_model(saved[0]) if saved else net(), output[0], ["logits"])
