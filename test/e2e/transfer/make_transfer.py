"""Makes the references of distillation, adapters, and initial weights: small models, batches, files of weights, and the losses of twenty
steps in PyTorch.

Needs numpy, torch, safetensors and onnx (made with 2.4.6, 2.15.0, 0.8.0 and 1.23.2); run it from anywhere:
    python make_transfer.py
"""
import json
import math
import os

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper
from safetensors.torch import save_file

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, BATCH, BATCHES, CLASSES = 20, 8, 4, 5
random = np.random.default_rng(9)


def draw(*shape, fan=1.0):
    return (random.standard_normal(shape) / math.sqrt(fan)).astype(np.float32)


def save_model(name, nodes, weights, inputs, outputs):
    info = lambda tensor, dims: helper.make_tensor_value_info(tensor, TensorProto.FLOAT, dims)
    graph = helper.make_graph([helper.make_node(op, i, o, n, **a) for op, i, o, n, a in nodes], name,
                              [info(*i) for i in inputs], [info(*o) for o in outputs],
                              [numpy_helper.from_array(np.ascontiguousarray(w), n) for n, w in weights.items()])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(HERE, f"{name}.onnx"))


# The student has a hidden layer of the size of the teacher's, which is normalized and drops out. ---------------------

student = {"fc1.weight": draw(16, 12, fan=12), "fc1.bias": 0.1 * draw(16), "fc2.weight": draw(CLASSES, 16, fan=16),
           "fc2.bias": 0.1 * draw(CLASSES)}
teacher = {"body.weight": draw(12, 16, fan=6), "body.bias": 0.1 * draw(16), "norm.weight": 1 + 0.2 * draw(16), "norm.bias": 0.1 * draw(16),
           "norm.running_mean": 0.3 * draw(16), "norm.running_var": 1 + 0.5 * np.abs(draw(16)),
           "head.weight": draw(CLASSES, 16, fan=4), "head.bias": 0.1 * draw(CLASSES),
           "ratio": np.array(0.5, np.float32), "training": np.array(True)}
save_model("student", [("Gemm", ["x", "fc1.weight", "fc1.bias"], ["fc1.out"], "fc1", {"transB": 1}),
                       ("Relu", ["fc1.out"], ["features"], "relu", {}),
                       ("Gemm", ["features", "fc2.weight", "fc2.bias"], ["logits"], "fc2", {"transB": 1})],
           student, [("x", ["N", 12])], [("logits", ["N", CLASSES])])
# It ends in probabilities, and calls its input by another name.
save_model("teacher", [("MatMul", ["pixels", "body.weight"], ["body.product"], "body", {}),
                       ("Add", ["body.product", "body.bias"], ["body.out"], "body.add", {}),
                       ("BatchNormalization", ["body.out", "norm.weight", "norm.bias", "norm.running_mean", "norm.running_var"],
                        ["norm.out", "norm.mean", "norm.var"], "norm", {"training_mode": 1}),
                       ("Relu", ["norm.out"], ["taught"], "relu", {}),
                       ("Dropout", ["taught", "ratio", "training"], ["dropped"], "drop", {}),
                       ("Gemm", ["dropped", "head.weight", "head.bias"], ["scores"], "head", {"transB": 1}),
                       ("Softmax", ["scores"], ["probabilities"], "softmax", {"axis": -1})],
           teacher, [("pixels", ["N", 12])], [("probabilities", ["N", CLASSES])])
x, labels = draw(BATCH * BATCHES, 12), random.integers(0, CLASSES, BATCH * BATCHES)
np.save(os.path.join(HERE, "x.npy"), x)
np.save(os.path.join(HERE, "labels.npy"), labels.astype(np.int64))


def steps(parameters, loss_of, learning_rate, data):
    """The losses of steps of Adam."""
    optimizer = torch.optim.Adam(parameters, lr=learning_rate)
    losses = []
    for step in range(STEPS):
        at = slice(step % BATCHES * BATCH, (step % BATCHES + 1) * BATCH)
        loss = loss_of(torch.from_numpy(data[at]), torch.from_numpy(labels[at]))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def distill(temperature, soft, hard, match):
    w = {name: torch.tensor(value, requires_grad=True) for name, value in student.items()}
    t = {name: torch.from_numpy(value) for name, value in teacher.items()}

    def loss_of(rows, targets):
        with torch.no_grad():
            taught = F.relu(F.batch_norm(rows @ t["body.weight"] + t["body.bias"], t["norm.running_mean"], t["norm.running_var"],
                                         t["norm.weight"], t["norm.bias"], False))
            scores = F.linear(taught, t["head.weight"], t["head.bias"])
        features = F.relu(F.linear(rows, w["fc1.weight"], w["fc1.bias"]))
        logits = F.linear(features, w["fc2.weight"], w["fc2.bias"])
        # The tutorial's: pytorch.org/tutorials/beginner/knowledge_distillation_tutorial.html
        targeted = F.softmax(scores / temperature, dim=-1)
        found = F.log_softmax(logits / temperature, dim=-1)
        distillation = torch.sum(targeted * (targeted.log() - found)) / found.size()[0] * temperature**2
        loss = soft * distillation + hard * F.cross_entropy(logits, targets)
        return loss + match * F.mse_loss(features, taught) if match else loss

    return steps(w.values(), loss_of, 0.01, x)


# Adapters beside a product of sequences, one whose weight is [inputs, outputs], and a Gemm. ----------------------------

sequence = {"mix.weight": draw(6, 8, fan=6), "mix.bias": 0.1 * draw(8), "out.weight": draw(8, 8, fan=8), "out.bias": 0.1 * draw(8),
            "fc.weight": draw(CLASSES, 8, fan=8), "fc.bias": 0.1 * draw(CLASSES)}
save_model("sequence", [("MatMul", ["x", "mix.weight"], ["mix.product"], "mix", {}),
                        ("Add", ["mix.product", "mix.bias"], ["mix.out"], "mix.add", {}),
                        ("Relu", ["mix.out"], ["mixed"], "relu", {}),
                        ("Transpose", ["out.weight"], ["out.turned"], "turn", {"perm": [1, 0]}),
                        ("MatMul", ["mixed", "out.turned"], ["out.product"], "out", {}),
                        ("Add", ["out.product", "out.bias"], ["out.out"], "out.add", {}),
                        ("ReduceMean", ["out.out"], ["pooled"], "pool", {"axes": [1], "keepdims": 0}),
                        ("Gemm", ["pooled", "fc.weight", "fc.bias"], ["logits"], "fc", {"transB": 1, "alpha": 0.5})],
           sequence, [("x", ["N", 4, 6])], [("logits", ["N", CLASSES])])
rows = draw(BATCH * BATCHES, 4, 6)
np.save(os.path.join(HERE, "rows.npy"), rows)
RANKS = {"mix.weight": (2, 4), "out.weight": (2, 4), "fc.weight": (3, 3)}  # with alpha
SIZES = {"mix.weight": (6, 8), "out.weight": (8, 8), "fc.weight": (8, CLASSES)}
adapters = {}
for weight, (rank, _) in RANKS.items():
    adapters[f"{weight}.lora_A"] = draw(rank, SIZES[weight][0], fan=SIZES[weight][0])
    adapters[f"{weight}.lora_B"] = 0.1 * draw(SIZES[weight][1], rank)
save_file({name: torch.from_numpy(value) for name, value in adapters.items()}, os.path.join(HERE, "adapters.safetensors"))


def adapt():
    w = {name: torch.from_numpy(value) for name, value in sequence.items()}
    a = {name: torch.tensor(value, requires_grad=True) for name, value in adapters.items()}
    bias = torch.tensor(sequence["fc.bias"], requires_grad=True)

    def adapter(weight, value):
        rank, alpha = RANKS[weight]
        return F.linear(F.linear(value, a[f"{weight}.lora_A"]), a[f"{weight}.lora_B"]) * (alpha / rank)

    def loss_of(batch, targets):
        mixed = F.relu(batch @ w["mix.weight"] + adapter("mix.weight", batch) + w["mix.bias"])
        out = F.linear(mixed, w["out.weight"], w["out.bias"]) + adapter("out.weight", mixed)
        pooled = out.mean(1)
        # Gemm multiplies its product by 0.5, and so that of the adapter.
        logits = 0.5 * (F.linear(pooled, w["fc.weight"]) + adapter("fc.weight", pooled)) + bias
        return F.cross_entropy(logits, targets)

    return steps([*a.values(), bias], loss_of, 0.01, rows)


# The student's weights in the forms of other files: in 16 bits and f64, with a prefix, one transposed, one with another name, and with an
# unused tensor.
as_saved = {"module.net.fc1.weight": torch.from_numpy(student["fc1.weight"].T.copy() * 2).half(),
            "module.net.fc1.bias": torch.from_numpy(student["fc1.bias"] * 2).bfloat16(),
            "module.net.classifier.weight": torch.from_numpy(student["fc2.weight"] * 2).double(),
            "module.net.classifier.bias": torch.from_numpy(student["fc2.bias"] * 2),
            "module.net.norm.num_batches_tracked": torch.tensor(7), "module.ema.fc1": torch.ones(3)}
save_file(as_saved, os.path.join(HERE, "weights.safetensors"))
plain = {"fc1.weight": as_saved["module.net.fc1.weight"].float().T, "fc1.bias": as_saved["module.net.fc1.bias"].float(),
         "fc2.weight": as_saved["module.net.classifier.weight"].float(), "fc2.bias": as_saved["module.net.classifier.bias"]}
expected = {"distillation": distill(2, 0.25, 0.75, 0), "features": distill(4, 0.5, 0.5, 0.1), "adapters": adapt(),
            "weights": {name: value.flatten().tolist() for name, value in plain.items()}}
with open(os.path.join(HERE, "expected.json"), "w") as file:
    json.dump(expected, file, indent=1)
