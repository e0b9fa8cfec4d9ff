"""Writes a workload for gradc and for peers that read ONNX, in the form of PyTorch's exporter (opset 17).

    onnx_export.py NAME FOLDER [ROWS]    writes NAME.onnx, its batch dim named ROWS, NAME.npz (its batches) and NAME.textproto
"""
import os
import sys

import numpy as np

from workloads import BATCHES, ROOT, WORKLOADS

sys.path.insert(0, os.path.join(ROOT, "test"))
from onnx_writer import FLOAT, INT64, Model


class Value:
    """A tensor of the graph: its name and shape. Adding two adds a node."""

    def __init__(self, graph, name, shape):
        self.graph, self.name, self.shape = graph, name, tuple(shape)

    def __add__(self, other):
        return self.graph.add("Add", [self, other], np.broadcast_shapes(self.shape, other.shape))


class Graph:
    """The adapter: each operation adds nodes. Statistics and parameters are initializers under their own names."""

    def __init__(self, name, training):
        self.model, self.training = Model(name, opset=17), training

    def add(self, op, inputs, shape, outputs=(), **attributes):
        """Adds a node; returns its first output as a Value, named like the node as exporters do."""
        name = f"/{op}_{len(self.model.nodes)}"
        names = [value.name if value else "" for value in inputs]
        self.model.node(op, names, [f"{name}_output_0", *outputs], name, **attributes)
        return Value(self, f"{name}_output_0", shape)

    def constant(self, name, array):
        dtype = INT64 if array.dtype == np.int64 else FLOAT
        self.model.initializer(name, dtype, array.shape, data=np.ascontiguousarray(array).tobytes())
        return Value(self, name, array.shape)

    def scalar(self, value):
        return self.constant(f"scalar_{len(self.model.initializers)}", np.array(value, np.float32))

    def relu(self, x):
        return self.add("Relu", [x], x.shape)

    def gelu(self, x):
        scaled = self.add("Div", [x, self.scalar(np.sqrt(2))], x.shape)
        half = self.add("Mul", [x, self.add("Erf", [scaled], x.shape) + self.scalar(1)], x.shape)
        return self.add("Mul", [half, self.scalar(0.5)], x.shape)

    def dense(self, x, w, b):
        if len(x.shape) == 2:  # the weight is [out, in] there
            return self.add("Gemm", [x, w, b], (x.shape[0], w.shape[0]), transB=1)
        return self.add("MatMul", [x, w], (*x.shape[:-1], w.shape[-1])) + b

    def conv(self, x, w, b, stride, padding, groups=1):
        size = w.shape[2]
        spatial = [(side + 2 * padding - size) // stride + 1 for side in x.shape[2:]]
        return self.add("Conv", [x, w, b] if b else [x, w], (x.shape[0], w.shape[0], *spatial), dilations=[1, 1], group=groups,
                        kernel_shape=[size, size], pads=[padding] * 4, strides=[stride, stride])

    def maxpool(self, x, size, stride, padding):
        spatial = [(side + 2 * padding - size) // stride + 1 for side in x.shape[2:]]
        return self.add("MaxPool", [x], (*x.shape[:2], *spatial), ceil_mode=0, dilations=[1, 1], kernel_shape=[size, size],
                        pads=[padding] * 4, strides=[stride, stride])

    def batchnorm(self, x, p, s, name, training):
        inputs = [x, p[f"{name}_g"], p[f"{name}_b"], s[f"{name}_rm"], s[f"{name}_rv"]]
        running = [f"{name}_new_mean", f"{name}_new_variance"] if training else []
        return self.add("BatchNormalization", inputs, x.shape, running, epsilon=1e-5, momentum=0.9,
                        training_mode=int(training))

    def mean_pixels(self, x):
        pooled = self.add("GlobalAveragePool", [x], (*x.shape[:2], 1, 1))
        return self.flatten(pooled)

    def flatten(self, x):
        return self.add("Flatten", [x], (x.shape[0], int(np.prod(x.shape[1:]))), axis=1)

    def layernorm(self, x, g, b):
        return self.add("LayerNormalization", [x, g, b], x.shape, axis=-1, epsilon=1e-5)

    def embed(self, w, i):
        return self.add("Gather", [w, i], (*i.shape, w.shape[1]), axis=0)

    def unembed(self, x, w):
        transposed = self.add("Transpose", [w], w.shape[::-1], perm=[1, 0])
        return self.add("MatMul", [x, transposed], (*x.shape[:-1], w.shape[0]))

    def reshape(self, x, shape):
        wanted = (0, *shape[1:]) if self.rows and shape[0] == x.shape[0] else shape  # 0: as it is
        target = self.constant(f"shape_{len(self.model.initializers)}", np.array(wanted, np.int64))
        return self.add("Reshape", [x, target], shape, allowzero=0)

    def split3(self, x):
        shape = (*x.shape[:-1], x.shape[-1] // 3)
        sizes = self.constant(f"sizes_{len(self.model.initializers)}", np.array([shape[-1]] * 3, np.int64))
        others = [f"/Split_{len(self.model.nodes)}_output_{i}" for i in (1, 2)]
        first = self.add("Split", [x, sizes], shape, others, axis=-1)
        return [first, *(Value(self, name, shape) for name in others)]

    def swap12(self, x):
        return self.add("Transpose", [x], [x.shape[i] for i in (0, 2, 1, 3)], perm=[0, 2, 1, 3])

    def attention(self, q, k, v, causal):
        keys = self.add("Transpose", [k], [k.shape[i] for i in (0, 1, 3, 2)], perm=[0, 1, 3, 2])
        shape = (*q.shape[:3], k.shape[2])
        scores = self.add("Mul", [self.add("MatMul", [q, keys], shape), self.scalar(q.shape[-1] ** -0.5)], shape)
        if causal:
            mask = np.triu(np.full(shape[2:], -1e9, np.float32), 1)
            scores = scores + self.constant(f"mask_{len(self.model.initializers)}", mask)
        return self.add("MatMul", [self.add("Softmax", [scores], shape, axis=-1), v], q.shape)


def initializers(graph, workload):
    """(parameters, statistics) by name, as the graph's initializers; dense weights over rows as [out, in]."""
    over_rows = workload.data != "tokens"
    groups = []
    for group in workload.weights():
        values = {}
        for name, (kind, array) in group.items():
            transposed = over_rows and (kind == "dense" or kind.startswith("flat"))
            values[name] = graph.constant(name, array.T if transposed else array)
        groups.append(values)
    return groups


def write_onnx(workload, path, training=False, rows=None):
    """The forward graph with x [batch, ...] and logits. The batch dim is the workload's, or named `rows`. `training`: BatchNormalization in
    training mode, for the peer that cannot switch it."""
    graph = Graph(workload.name, training)
    graph.rows = rows
    parameters, statistics = initializers(graph, workload)
    tokens = workload.data == "tokens"
    shape = (rows or workload.shape[0], *workload.shape[1:])
    x = Value(graph, graph.model.input("x", INT64 if tokens else FLOAT, shape), workload.shape)
    y = workload.forward(graph, parameters, statistics, x, training)
    graph.model.node("Identity", [y.name], ["logits"], "/Identity")
    graph.model.output("logits", FLOAT, (rows or y.shape[0], *y.shape[1:]))
    graph.model.save(path)


def spec_text(workload):
    """The training spec, in which an epoch is the twenty batches in order."""
    rule = workload.optimizer
    names = {"momentum": ("learning_rate", "momentum", "l2"), "adam": ("learning_rate", "beta1", "beta2", "epsilon"),
             "adamw": ("learning_rate", "beta1", "beta2", "epsilon", "weight_decay")}[rule["name"]]
    fields = "  ".join(f"{name}: {rule[name]}" for name in names)
    clip = f"clip {{ global_norm: {workload.clip} }}\n" if workload.clip else ""
    return f"""model: "{workload.name}.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ {rule["name"]} {{ {fields} }} }}
{clip}data {{
  source {{ npz {{ path: "{workload.name}.npz" }} }}
  stage {{ batch {{ size: {workload.shape[0]}  drop_remainder: true }} }}
}}
"""


def write_job(workload, folder, name_of_rows=None):
    """Writes the model, the batches as rows, and the training spec; returns the spec's path."""
    x, labels = workload.batches()
    rows = BATCHES * workload.shape[0]
    x = x.reshape(rows, *workload.shape[1:])
    np.savez(os.path.join(folder, f"{workload.name}.npz"), x=x.astype(np.int64) if workload.data == "tokens" else x,
             labels=labels.reshape(rows, *labels.shape[2:]).astype(np.int64))
    write_onnx(workload, os.path.join(folder, f"{workload.name}.onnx"), rows=name_of_rows)
    spec = os.path.join(folder, f"{workload.name}.textproto")
    with open(spec, "w") as file:
        file.write(spec_text(workload))
    return spec


if __name__ == "__main__":
    write_job(WORKLOADS[sys.argv[1]], *sys.argv[2:])
