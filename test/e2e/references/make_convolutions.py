"""Makes the stored trajectories of convolutional networks: small networks with initial weights, their batches, the training specs, and the
twenty losses that PyTorch computes from them in f64; also the errors of PyTorch in f32.

Needs numpy, torch and onnx (made with 2.4.6, 2.15.0 and 1.23.2); run it from anywhere:
    python make_convolutions.py
"""
import json
import os
import sys

import numpy as np
import torch
import torch.nn.functional as F
from torch_onnx import TorchModel

HERE = os.path.dirname(os.path.abspath(__file__))
EXAMPLES = "../../../examples"
sys.path.insert(0, os.path.join(HERE, EXAMPLES))
from layers import Layers
from onnx_writer import FLOAT

STEPS = 20
ADAM = {"name": "adam", "learning_rate": 1e-3}
MOMENTUM = {"name": "momentum", "learning_rate": 0.01, "momentum": 0.9, "l2": 5e-4}
SLOW = MOMENTUM | {"learning_rate": 5e-4}  # a deep network's f32 rounding grows with the rate


def write_cnn(path):
    """Channels that fill no vector or tile (13, 50), on odd pictures of 3 x 13 x 11; the pools drop a row and columns."""
    layers = Layers("odd-cnn")
    x, inputs = layers.model.input("x", FLOAT, ["N", 3, 13, 11]), 3
    for index, outputs in enumerate((13, 13, 50, 50), 1):
        x = layers.relu(f"conv{index}", layers.conv(f"conv{index}", x, inputs, outputs, size=3))
        inputs = outputs
        if index % 2 == 0:
            x = layers.max_pool(f"pool{index // 2}", x)
    x = layers.add("Flatten", "flatten", [x], axis=1)
    x = layers.relu("fc1", layers.dense("fc1", x, 50 * 3 * 2, 37))
    layers.save(layers.dense("fc2", x, 37, 7), 7, path)


def write_resnet(path):
    """A stem with stride 2 and an overlapping pool, a block that keeps 13 channels, and one that projects them to 50."""
    layers = Layers("odd-resnet")

    def conv_norm(name, x, inputs, outputs, size, stride=1):
        x = layers.conv(f"{name}.conv", x, inputs, outputs, size, stride, bias=False)
        return layers.batch_norm(f"{name}.bn", x, outputs)

    x = layers.relu("stem", conv_norm("stem", layers.model.input("x", FLOAT, ["N", 3, 13, 11]), 3, 13, 7, stride=2))
    x = layers.max_pool("pool", x, size=3, padding=1)
    for name, inputs, outputs, stride in (("block1", 13, 13, 1), ("block2", 13, 50, 2)):
        y = layers.relu(f"{name}.a", conv_norm(f"{name}.a", x, inputs, outputs, 3, stride))
        y = conv_norm(f"{name}.b", y, outputs, outputs, 3)
        if stride != 1:
            x = conv_norm(f"{name}.project", x, inputs, outputs, 1, stride)
        x = layers.relu(f"{name}.sum", layers.add("Add", name, [y, x]))
    x = layers.add("Flatten", "flatten", [layers.add("GlobalAveragePool", "average", [x])], axis=1)
    layers.save(layers.dense("fc", x, 50, 7), 7, path)


def trajectory(model, rule, batches, dtype):
    """The losses; each batch is (x in f32, labels)."""
    network = TorchModel(model, dtype)
    parameters = list(network.parameters.values())
    if rule["name"] == "adam":
        optimizer = torch.optim.Adam(parameters, rule["learning_rate"])
    else:
        optimizer = torch.optim.SGD(parameters, rule["learning_rate"], rule["momentum"], weight_decay=rule["l2"])
    losses = []
    for x, labels in batches:
        loss = F.cross_entropy(network(torch.from_numpy(x).to(dtype), training=True)[0], torch.from_numpy(labels))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


SPEC = """# Made by make_convolutions.py.
model: "{model}"
feed {{ input: "x"  field: "images" }}
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ {optimizer} }}
data {{
  source {{ npz {{ path: "{data}" }} }}
  stage {{ map {{ field: "images"  cast: F32  scale: {scale}  offset: {offset} }} }}
  stage {{ batch {{ size: {batch}  drop_remainder: true }} }}
}}
steps: {steps}
"""


def write_case(name, model, data, scale, offset, batch, rule):
    """`scale` is a power of two, so that scaling is exact."""
    arrays = np.load(os.path.join(HERE, data))
    x = arrays["images"].astype(np.float32) * np.float32(scale) + np.float32(offset)
    whole = len(x) // batch  # batches of an epoch
    rows = [slice(i % whole * batch, (i % whole + 1) * batch) for i in range(STEPS)]
    batches = [(x[r], arrays["labels"][r].astype(np.int64)) for r in rows]
    path = os.path.join(HERE, model)
    exact, rounded = (trajectory(path, rule, batches, dtype) for dtype in (torch.float64, torch.float32))
    fields = "  ".join(f"{k}: {v}" for k, v in rule.items() if k != "name")
    with open(os.path.join(HERE, f"{name}.textproto"), "w") as file:
        file.write(SPEC.format(model=model, data=data, scale=scale, offset=offset, batch=batch, steps=STEPS,
                               optimizer=f"{rule['name']} {{ {fields} }}"))
    error = max(abs(a - b) / abs(a) for a, b in zip(exact, rounded))
    print(f"{name:12} loss {exact[0]:.5f} -> {exact[-1]:.5f}, f32 within {error:.1e}")
    return {"loss": exact}


def main():
    # Noise, not pictures: with equal neighbours, rounding would decide which of them a pool takes.
    random = np.random.default_rng(8)
    for name, rows, classes, size in (("odd-noise", 60, 7, (3, 13, 11)), ("noise", 40, 10, (3, 24, 24))):
        np.savez(os.path.join(HERE, f"{name}.npz"), labels=random.integers(0, classes, rows),
                 images=random.integers(0, 256, (rows, *size), dtype=np.uint8))
    write_cnn(os.path.join(HERE, "odd-cnn.onnx"))
    write_resnet(os.path.join(HERE, "odd-resnet.onnx"))
    odd, even = ("odd-noise.npz", 0.015625, -2, 3), ("noise.npz", 0.015625, -2, 8)
    expected = {
        "lenet": write_case("lenet", f"{EXAMPLES}/lenet/lenet.onnx", "digits-batches.npz", 0.0625, 0, 32, ADAM),
        "cnn": write_case("cnn", f"{EXAMPLES}/cifar/cnn.onnx", *even, MOMENTUM),
        "odd-cnn": write_case("odd-cnn", "odd-cnn.onnx", *odd, MOMENTUM),
        "resnet18": write_case("resnet18", f"{EXAMPLES}/resnet18/resnet18.onnx", *even, SLOW),
        "odd-resnet": write_case("odd-resnet", "odd-resnet.onnx", *odd, MOMENTUM),
    }
    with open(os.path.join(HERE, "expected-convolutions.json"), "w") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
