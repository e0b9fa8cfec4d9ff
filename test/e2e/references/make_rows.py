"""Makes the stored trajectory of a network over two embedding tables, of which each step updates only the rows that it reads: the
network as PyTorch exports it, its batches, the training specs, and twenty losses and norms that PyTorch computes in f64 with
SparseAdam, or Adagrad of sparse gradients, for the tables and SGD for the rest; also how far PyTorch in f32 is off those.

Needs numpy, torch and onnx (made with 2.4.6, 2.15.0 and 1.23.2); run it from anywhere:
    python make_rows.py
"""
import json
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, ROWS, BATCH, LENGTH = 20, 24, 6, 5
WORDS, PEOPLE, CLASSES = 211, 67, 7
LIMIT = 0.5

SPEC = """# Made by make_rows.py.
model: "rows.onnx"
loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }
optimizer { sgd { learning_rate: 0.1 } }
group { pattern: "words.weight"  pattern: "people.weight"  RULE }
clip { global_norm: 0.5 }
data {
  source { npz { path: "rows.npz" } }
  stage { batch { size: 6 } }
}
steps: 20
"""


class Network(nn.Module):
    """The mean of a text's words, and how well two people agree, both rows of one table."""

    def __init__(self):
        super().__init__()
        self.words = nn.Embedding(WORDS, 12, sparse=True)
        self.people = nn.Embedding(PEOPLE, 10, sparse=True)
        self.hidden = nn.Linear(22, 17)
        self.out = nn.Linear(17, CLASSES)

    def forward(self, text, writer, reader):
        both = self.people(writer) * self.people(reader)
        return self.out(torch.tanh(self.hidden(torch.cat([self.words(text).mean(1), both], 1))))


def clip(parameters):
    """As clip_grad_norm_, which takes no sparse gradients; duplicates count as the row's sum."""
    for p in parameters:
        if p.grad.is_sparse:
            p.grad = p.grad.coalesce()
    values = [p.grad.values() if p.grad.is_sparse else p.grad for p in parameters]
    norm = torch.sqrt(sum((v * v).sum() for v in values))
    for p in parameters:
        p.grad = p.grad * torch.clamp(LIMIT / (norm + 1e-6), max=1.0)
    return float(norm)


def trajectory(model, tables_rule, batches):
    tables = [model.words.weight, model.people.weight]
    rest = [p for p in model.parameters() if not any(p is t for t in tables)]
    rules = [tables_rule(tables), torch.optim.SGD(rest, 0.1)]
    found = {"loss": [], "grad_norm": []}
    for *inputs, labels in batches:
        loss = F.cross_entropy(model(*inputs), labels)
        for rule in rules:
            rule.zero_grad()
        loss.backward()
        found["grad_norm"].append(clip(list(model.parameters())))
        for rule in rules:
            rule.step()
        found["loss"].append(float(loss.detach()))
    return found


CASES = [("rows-sparse-adam", "lazy: true  optimizer { adam { learning_rate: 0.02 } }",
          lambda tables: torch.optim.SparseAdam(tables, 0.02)),
         ("rows-adagrad", "optimizer { adagrad { learning_rate: 0.1 } }", lambda tables: torch.optim.Adagrad(tables, 0.1))]


def main():
    random = np.random.default_rng(21)
    draw = lambda count, *shape: np.minimum(random.geometric(4 / count, shape) - 1, count - 1)
    fields = {"text": draw(WORDS, ROWS, LENGTH), "writer": draw(PEOPLE, ROWS), "reader": draw(PEOPLE, ROWS).astype(np.int32),
              "labels": random.integers(0, CLASSES, ROWS)}
    fields["text"][3, :3] = 8  # in one text, and below in a writer and a reader of one batch
    fields["reader"][1] = fields["writer"][0]
    np.savez(os.path.join(HERE, "rows.npz"), **fields)
    tensors = [torch.from_numpy(a.astype(np.int64)) for a in fields.values()]
    whole = ROWS // BATCH
    batches = [[t[i % whole * BATCH:][:BATCH] for t in tensors] for i in range(STEPS)]
    torch.manual_seed(4)
    model = Network()
    names = list(fields)[:-1]
    torch.onnx.export(model, tuple(t[:BATCH].to(torch.int32) if n == "reader" else t[:BATCH] for n, t in zip(names, tensors)),
                      os.path.join(HERE, "rows.onnx"), dynamo=False, opset_version=17, do_constant_folding=False,
                      training=torch.onnx.TrainingMode.TRAINING, input_names=names, output_names=["logits"],
                      dynamic_axes={name: {0: "N"} for name in names + ["logits"]})
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    expected = {}
    for name, rule, tables_rule in CASES:
        found = []
        for network in Network(), Network().double():
            network.load_state_dict(weights)
            found.append(trajectory(network, tables_rule, batches))
        rounded, exact = found
        with open(os.path.join(HERE, f"{name}.textproto"), "w") as file:
            file.write(SPEC.replace("RULE", rule))
        expected[name] = exact
        error = max(abs(a - b) / abs(a) for field in exact for a, b in zip(exact[field], rounded[field]))
        print(f"{name}: loss {exact['loss'][0]:.5f} -> {exact['loss'][-1]:.5f}, f32 within {error:.1e}")
    with open(os.path.join(HERE, "expected-rows.json"), "w") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
