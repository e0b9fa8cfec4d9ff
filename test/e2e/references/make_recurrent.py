"""Makes the stored trajectories of recurrent models: a bidirectional two-layer LSTM tagger and a GRU classifier exported by PyTorch, and
two hand-made graphs, a neural ODE (a Loop that contains an If) and a Loop around a Scan with an If; their batches, the training specs,
and the twenty losses that PyTorch computes in f64; also the errors of PyTorch in f32.

Needs numpy, torch and onnx (made with 2.4.6, 2.15.0 and 1.23.2); run it from anywhere:
    python make_recurrent.py
"""
import json
import os

import numpy as np
import onnx
import torch
import torch.nn as nn
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, ROWS, BATCH = 20, 24, 4
LENGTH, WIDTH, HIDDEN, CLASSES = 9, 6, 13, 5  # no vector's, no tile's multiples


class Tagger(nn.Module):
    """One class per position of a sequence."""

    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(WIDTH, HIDDEN, num_layers=2, bidirectional=True, batch_first=True)
        self.out = nn.Linear(2 * HIDDEN, CLASSES)

    def forward(self, x):
        return self.out(self.lstm(x)[0])


class Classifier(nn.Module):
    """One class per sequence, from its last state."""

    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(WIDTH, HIDDEN, batch_first=True)
        self.out = nn.Linear(HIDDEN, CLASSES)

    def forward(self, x):
        return self.out(self.gru(x)[1][0])


class Ode(nn.Module):
    """Ten Euler steps of h' = tanh(h a + b); a step that starts below a mean of 0 is half as long."""

    def __init__(self):
        super().__init__()
        self.first = nn.Parameter(torch.randn(WIDTH * LENGTH, HIDDEN) * 0.1)
        self.a = nn.Parameter(torch.randn(HIDDEN, HIDDEN) * 0.5)
        self.b = nn.Parameter(torch.randn(1, HIDDEN) * 0.1)
        self.out = nn.Parameter(torch.randn(HIDDEN, CLASSES) * 0.3)

    def forward(self, x):
        h = x.reshape(len(x), -1) @ self.first
        for _ in range(10):
            slope = torch.tanh(h @ self.a + self.b)
            h = h + 0.1 * slope if h.mean() > 0 else h + 0.05 * slope
        return h @ self.out

    def export(self, path):
        """The graph is made by hand, because the exporter would unroll the steps."""
        node, value = helper.make_node, helper.make_tensor_value_info
        branches = [helper.make_graph([node("Constant", [], [f"length{k}"], value_float=length), node("Mul", ["slope", f"length{k}"], [f"move{k}"])],
                                      f"branch{k}", [], [value(f"move{k}", TensorProto.FLOAT, None)]) for k, length in enumerate((0.1, 0.05))]
        body = helper.make_graph(
            [node("MatMul", ["h", "a"], ["product"]), node("Add", ["product", "b"], ["sum"]), node("Tanh", ["sum"], ["slope"]),
             node("ReduceMean", ["h"], ["mean"], keepdims=0), node("Greater", ["mean", "zero"], ["positive"]),
             node("If", ["positive"], ["move"], name="length", then_branch=branches[0], else_branch=branches[1]),
             node("Add", ["h", "move"], ["next"]), node("Identity", ["go"], ["goes"])],
            "step", [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("h", TensorProto.FLOAT, None)],
            [value("goes", TensorProto.BOOL, []), value("next", TensorProto.FLOAT, None)])
        weights = [numpy_helper.from_array(p.detach().numpy(), name) for name, p in self.named_parameters()]
        constants = [numpy_helper.from_array(np.array(v), name) for name, v in (("steps", 10), ("shape", [0, -1]), ("zero", np.float32(0)))]
        graph = helper.make_graph(
            [node("Reshape", ["x", "shape"], ["flat"]), node("MatMul", ["flat", "first"], ["h0"]),
             node("Loop", ["steps", "", "h0"], ["last"], name="ode", body=body), node("MatMul", ["last", "out"], ["logits"])],
            "ode", [value("x", TensorProto.FLOAT, ["N", LENGTH, WIDTH])], [value("logits", TensorProto.FLOAT, ["N", CLASSES])], weights + constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


class Nested(nn.Module):
    """Walks a sequence three times; each step takes one of two activations, depending on its own sum."""

    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.randn(WIDTH, WIDTH) * 0.5)
        self.out = nn.Parameter(torch.randn(WIDTH, CLASSES) * 0.5)

    def forward(self, x):
        h = x.mean(1)
        for i in range(3):
            for k in range(x.shape[1]):
                z = h @ self.w + x[:, k]
                h = torch.tanh(z) if z.sum() > i else z * 0.5
        return h @ self.out

    def export(self, path):
        """A Scan that contains an If, in a Loop: every graph reads values of the enclosing ones."""
        node, value = helper.make_node, helper.make_tensor_value_info
        tanh = helper.make_graph([node("Tanh", ["z"], ["t"])], "tanh", [], [value("t", TensorProto.FLOAT, None)])
        half = helper.make_graph([node("Mul", ["z", "half"], ["t2"])], "half", [], [value("t2", TensorProto.FLOAT, None)])
        inner = helper.make_graph(
            [node("MatMul", ["s", "w"], ["product"]), node("Add", ["product", "e"], ["z"]), node("ReduceSum", ["z"], ["sum"], keepdims=0),
             node("Greater", ["sum", "least"], ["large"]), node("If", ["large"], ["next"], name="branch", then_branch=tanh, else_branch=half)],
            "step", [value("s", TensorProto.FLOAT, None), value("e", TensorProto.FLOAT, None)], [value("next", TensorProto.FLOAT, None)])
        outer = helper.make_graph(
            [node("Cast", ["i"], ["least"], to=TensorProto.FLOAT), node("Scan", ["h", "x"], ["end"], name="scan", num_scan_inputs=1, scan_input_axes=[1], body=inner),
             node("Identity", ["go"], ["goes"])],
            "pass", [value("i", TensorProto.INT64, []), value("go", TensorProto.BOOL, []), value("h", TensorProto.FLOAT, None)],
            [value("goes", TensorProto.BOOL, []), value("end", TensorProto.FLOAT, None)])
        weights = [numpy_helper.from_array(p.detach().numpy(), name) for name, p in self.named_parameters()]
        constants = [numpy_helper.from_array(np.array(3), "passes"), numpy_helper.from_array(np.array(0.5, np.float32), "half")]
        graph = helper.make_graph(
            [node("ReduceMean", ["x"], ["h0"], axes=[1], keepdims=0), node("Loop", ["passes", "", "h0"], ["last"], name="loop", body=outer),
             node("MatMul", ["last", "out"], ["logits"])],
            "nested", [value("x", TensorProto.FLOAT, ["N", LENGTH, WIDTH])], [value("logits", TensorProto.FLOAT, ["N", CLASSES])], weights + constants)
        onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8), path)


SPEC = """# Made by make_recurrent.py.
model: "{name}.onnx"
feed {{ input: "x"  field: "x" }}
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "{labels}" }} }}
optimizer {{ adam {{ learning_rate: 0.01 }} }}
data {{
  source {{ npz {{ path: "sequences.npz" }} }}
  stage {{ batch {{ size: {batch}  drop_remainder: true }} }}
}}
steps: {steps}
"""


def trajectory(model, batches):
    optimizer, losses = torch.optim.Adam(model.parameters(), 0.01), []
    for x, labels in batches:
        logits = model(x.to(next(model.parameters()).dtype))
        loss = F.cross_entropy(logits.reshape(-1, CLASSES), labels.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
    return losses


def write_case(name, make_model, labels, fold=False):
    arrays = np.load(os.path.join(HERE, "sequences.npz"))
    whole = ROWS // BATCH  # batches of an epoch
    rows = [slice(i % whole * BATCH, (i % whole + 1) * BATCH) for i in range(STEPS)]
    batches = [tuple(torch.from_numpy(arrays[field][r]) for field in ("x", labels)) for r in rows]
    torch.manual_seed(7)
    model = make_model()
    path = os.path.join(HERE, f"{name}.onnx")
    if hasattr(model, "export"):
        model.export(path)
    else:
        torch.onnx.export(model, (batches[0][0],), path, dynamo=False, opset_version=17, do_constant_folding=fold,
                          input_names=["x"], output_names=["logits"], dynamic_axes={"x": {0: "N"}, "logits": {0: "N"}})
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    rounded = trajectory(model, batches)
    model = make_model()
    model.load_state_dict(weights)
    exact = trajectory(model.double(), batches)
    with open(os.path.join(HERE, f"{name}.textproto"), "w") as file:
        file.write(SPEC.format(name=name, labels=labels, batch=BATCH, steps=STEPS))
    error = max(abs(a - b) / abs(a) for a, b in zip(exact, rounded))
    print(f"{name:12} loss {exact[0]:.5f} -> {exact[-1]:.5f}, f32 within {error:.1e}")
    return {"loss": exact}


def main():
    random = np.random.default_rng(9)
    x = random.standard_normal((ROWS, LENGTH, WIDTH)).astype(np.float32)
    np.savez(os.path.join(HERE, "sequences.npz"), x=x, tags=random.integers(0, CLASSES, (ROWS, LENGTH)), topic=random.integers(0, CLASSES, ROWS))
    expected = {"lstm-tagger": write_case("lstm-tagger", Tagger, "tags", fold=True), "gru": write_case("gru", Classifier, "topic"),
                "ode": write_case("ode", Ode, "topic"), "nested": write_case("nested", Nested, "topic")}
    with open(os.path.join(HERE, "expected-recurrent.json"), "w") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
