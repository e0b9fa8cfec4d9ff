"""The measured workloads, the same for every peer: models with their initial weights, twenty batches, optimizers.

    workloads.py NAME FOLDER    writes NAME.onnx, NAME.npz and NAME.textproto for gradc
"""
import os
import sys

import numpy as np

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../..")
sys.path.insert(0, os.path.join(ROOT, "test"))
from onnx_writer import FLOAT, Model

BATCHES = 20  # cycled


class Workload:
    """A multilayer perceptron with ReLU, softmax cross-entropy and Adam."""

    def __init__(self, title, widths, batch, digits=False):
        self.title, self.widths, self.batch, self.digits = title, widths, batch, digits
        self.adam = {"learning_rate": 1e-3, "beta1": 0.9, "beta2": 0.999, "epsilon": 1e-8}

    def weights(self):
        """[weight (in, out), bias, ...] of all layers, in f32."""
        random = np.random.default_rng(1234)
        weights = []
        for rows, columns in zip(self.widths, self.widths[1:]):
            weights.append((random.standard_normal((rows, columns)) * np.sqrt(2 / rows)).astype(np.float32))
            weights.append(np.zeros(columns, np.float32))
        return weights

    def batches(self):
        """(x [BATCHES, batch, width] in f32, labels [BATCHES, batch] in i32)."""
        random = np.random.default_rng(7)
        shape = (BATCHES, self.batch)
        if self.digits:
            data = np.load(os.path.join(ROOT, "examples/digits/digits.npz"))
            rows = random.permutation(len(data["images"]))[: BATCHES * self.batch]
            x = data["images"][rows].reshape(*shape, -1).astype(np.float32) / 16
            return x, data["labels"][rows].astype(np.int32).reshape(shape)
        pairs = [(random.standard_normal((self.batch, self.widths[0])).astype(np.float32),
                  random.integers(0, self.widths[-1], self.batch)) for _ in range(BATCHES)]
        return np.stack([x for x, _ in pairs]), np.stack([y for _, y in pairs]).astype(np.int32)


WORKLOADS = {
    "T1": Workload("digits MLP 64-128-64-10, batch 32, Adam", (64, 128, 64, 10), 32, digits=True),
    "T2": Workload("MLP 784-512-512-10, batch 128, Adam", (784, 512, 512, 10), 128),
}


def write_onnx(workload, path):
    model = Model("mlp")
    value = model.input("x", FLOAT, ["N", workload.widths[0]])
    weights = workload.weights()
    for layer in range(len(weights) // 2):
        names = [model.initializer(f"fc{layer}.{kind}", FLOAT, array.shape, data=array.tobytes())
                 for kind, array in zip(("weight", "bias"), weights[2 * layer :])]
        last = layer == len(weights) // 2 - 1
        value = model.node("Gemm", [value, *names], ["logits" if last else f"fc{layer}.out"], f"fc{layer}")
        if not last:
            value = model.node("Relu", [value], [f"relu{layer}.out"], f"relu{layer}")
    model.output("logits", FLOAT, ["N", workload.widths[-1]])
    model.save(path)


def main():
    name, folder = sys.argv[1:]
    workload = WORKLOADS[name]
    x, labels = workload.batches()
    np.savez(os.path.join(folder, f"{name}.npz"), x=x.reshape(-1, x.shape[-1]), labels=labels.reshape(-1).astype(np.int64))
    write_onnx(workload, os.path.join(folder, f"{name}.onnx"))
    adam = "  ".join(f"{key}: {value}" for key, value in workload.adam.items())
    with open(os.path.join(folder, f"{name}.textproto"), "w") as file:
        file.write(f"""model: "{name}.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ adam {{ {adam} }} }}
data {{
  source {{ npz {{ path: "{name}.npz" }} }}
  batch {{ size: {workload.batch}  drop_remainder: true }}
}}
""")


if __name__ == "__main__":
    main()
