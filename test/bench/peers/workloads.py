"""The measured workloads, equal for all peers: models with their initial weights, twenty batches, optimizers.

Weights and batches come from fixed seeds; they are kept in PEERS_MODELS, so that a peer's start does not count making them.
"""
import functools
import os
import tempfile
from dataclasses import dataclass, field
from typing import Callable

import numpy as np

import models

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
FOLDER = os.environ.get("PEERS_MODELS", os.path.join(tempfile.gettempdir(), "gradc-peers"))
BATCHES = 20  # cycled


def momentum(learning_rate, l2=0.0):
    return {"name": "momentum", "learning_rate": learning_rate, "momentum": 0.9, "l2": l2}


def adam(learning_rate, weight_decay=0.0, beta2=0.999):
    """AdamW if it has a weight decay."""
    return {"name": "adamw" if weight_decay else "adam", "learning_rate": learning_rate, "beta1": 0.9, "beta2": beta2,
            "epsilon": 1e-8, "weight_decay": weight_decay}


@dataclass
class Workload:
    title: str
    model: Callable  # () -> (Parameters, forward)
    data: str  # digits, normal, pictures or tokens
    shape: tuple  # of a batch
    classes: int
    optimizer: dict = field(default_factory=dict)  # none: inference
    clip: float = 0  # global norm of the gradients, where limited
    # The contractions and convolutions of one step, as counted by PyTorch's FlopCounterMode; T5 by hand, because the counter counts
    # depthwise gradients as dense ones.
    gflop: float = 0
    steps: int = 20  # whose losses are compared
    weights_of: str = ""  # another workload's, if named
    name: str = ""

    @property
    def training(self):
        return bool(self.optimizer)

    @functools.cached_property
    def built(self):
        return self.model()

    @property
    def forward(self):
        return self.built[1]

    def weights(self):
        """({name: (kind, array)} of trained parameters, the same of statistics), in f32."""
        parameters = self.built[0]
        arrays = kept(self.weights_of or self.name, lambda: self.make_weights(parameters))
        return tuple({p.name: (p.kind, arrays[p.name]) for p in group}
                     for group in (parameters.trained, parameters.statistics))

    def make_weights(self, parameters):
        random = np.random.default_rng(1234)

        def value(init, shape):
            if isinstance(init, str):
                return np.full(shape, init == "one", np.float32)
            return (random.standard_normal(shape) * init).astype(np.float32)

        return {p.name: value(p.init, p.shape) for p in parameters.trained + parameters.statistics}

    def batches(self):
        """(x [BATCHES, *shape] in f32, tokens in i32; labels [BATCHES, ...] in i32, or None for inference)."""
        arrays = kept(f"{self.name}-batches", self.make_batches)
        return arrays["x"], arrays["labels"] if self.training else None

    def make_batches(self):
        random = np.random.default_rng(7)
        if self.data == "digits":
            digits = np.load(os.path.join(ROOT, "examples/digits/digits.npz"))
            rows = random.permutation(len(digits["images"]))[: BATCHES * self.shape[0]]
            x = digits["images"][rows].reshape(BATCHES, *self.shape).astype(np.float32) / 16
            return {"x": x, "labels": digits["labels"][rows].astype(np.int32).reshape(BATCHES, -1)}
        x, labels = [], []
        for _ in range(BATCHES):
            tokens = self.data == "tokens"
            x.append(random.integers(0, self.classes, self.shape) if tokens else random.standard_normal(self.shape))
            if self.training:
                labels.append(random.integers(0, self.classes, self.shape if tokens else self.shape[0]))
        batches = {"x": np.stack(x).astype(np.int32 if self.data == "tokens" else np.float32)}
        return batches | ({"labels": np.stack(labels).astype(np.int32)} if self.training else {})


def kept(name, make):
    """The arrays of FOLDER/name.npz, which are created if the file is missing."""
    path = os.path.join(FOLDER, f"{name}.npz")
    if not os.path.exists(path):
        os.makedirs(FOLDER, exist_ok=True)
        own = f"{path}.{os.getpid()}.npz"
        np.savez(own, **make())
        os.replace(own, path)
    with np.load(path) as archive:
        return {key: archive[key] for key in archive}


def small_mlp():
    return models.mlp((64, 128, 64, 10))


def large_mlp():
    return models.mlp((784, 512, 512, 10))


def small_gpt():
    return models.gpt(layers=6, width=384, heads=6, length=128, vocabulary=4096)


def gpt2():
    return models.gpt(layers=12, width=768, heads=12, length=256, vocabulary=50257, tied=True)


WORKLOADS = {
    "T1": Workload("digits MLP 64-128-64-10, batch 32, Adam", small_mlp, "digits", (32, 64), 10, adam(1e-3), gflop=0.0027),
    "T2": Workload("MLP 784-512-512-10, batch 128, Adam", large_mlp, "normal", (128, 784), 10, adam(1e-3), gflop=0.4108),
    "T3": Workload("CNN on 32x32, batch 64, momentum", models.cnn, "pictures", (64, 3, 32, 32), 10, momentum(1e-3, 5e-4),
                   gflop=10.0935),
    "T4": Workload("ResNet-18 on 64x64, batch 32, momentum", models.resnet18, "pictures", (32, 3, 64, 64), 1000, momentum(2e-4),
                   gflop=27.9065),
    "T5": Workload("separable CNN on 32x32, batch 64, momentum", models.separable, "pictures", (64, 3, 32, 32), 10,
                   momentum(1e-3), gflop=3.73),
    "T6": Workload("GPT decoder, 6 layers of 384, batch 8x128, AdamW", small_gpt, "tokens", (8, 128), 4096,
                   adam(3e-4, 0.1, 0.95), clip=1.0, gflop=78.5174),
    "T7": Workload("GPT-2 124M, tied, batch 4x256, AdamW", gpt2, "tokens", (4, 256), 50257, adam(3e-4, 0.1, 0.95), clip=1.0, gflop=792.8037,
                   steps=6),
    "I1a": Workload("T2's MLP, batch 1", large_mlp, "normal", (1, 784), 10, gflop=0.0013, weights_of="T2"),
    "I1b": Workload("T2's MLP, batch 128", large_mlp, "normal", (128, 784), 10, gflop=0.1712, weights_of="T2"),
    "I2": Workload("ResNet-18 on 224x224, batch 1", models.resnet18, "pictures", (1, 3, 224, 224), 1000, gflop=3.6281,
                   weights_of="T4"),
    "I3": Workload("T6's decoder, batch 1x128", small_gpt, "tokens", (1, 128), 4096, gflop=3.2716, weights_of="T6"),
}
for name, workload in WORKLOADS.items():
    workload.name = name
