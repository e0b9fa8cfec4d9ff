"""Exports a PyTorch model in training form: batch normalization, dropout, and the names of weights are kept.

    export.py [OUTPUT]
"""
import os
import sys

import onnx
import torch
from torch import nn

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, ".."))
import exported


class Net(nn.Module):
    """A small convolutional network for pictures of 8 x 8."""

    def __init__(self):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2),
            nn.Conv2d(8, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(), nn.MaxPool2d(2))
        self.classifier = nn.Sequential(nn.Flatten(), nn.Dropout(0.1), nn.Linear(64, 10))

    def forward(self, image):
        return self.classifier(self.features(image.unsqueeze(1)))


def export(model, example, path):
    """The single call. `example`: one batch of inputs, with at least two rows."""
    torch.onnx.export(
        model.train(),                       # in eval mode Dropout is left out
        (example,), path, dynamo=True,
        optimize=False,                      # the optimizer folds BatchNormalization into convolutions
        dynamic_shapes=({0: "batch"},),      # one for each input
        input_names=["image"], output_names=["logits"],
        external_data=False)                 # one file; leave this out from 2 GB on


if __name__ == "__main__":
    torch.manual_seed(0)
    output = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "net.onnx")
    export(Net(), torch.zeros(2, 8, 8), output)
    model = onnx.load(output)
    exported.drop_paths(model)
    onnx.save(model, output)
