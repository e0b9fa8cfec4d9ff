"""Makes the stored trajectories of token models: a classifier over a mean of embeddings and a small GPT, exported by PyTorch, their
batches, the training specs, and the twenty losses that PyTorch computes in f64; also the errors of PyTorch in f32.

Needs numpy, torch and onnx (made with 2.4.6, 2.15.0 and 1.23.2); run it from anywhere:
    python make_tokens.py
"""
import json
import math
import os

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

HERE = os.path.dirname(os.path.abspath(__file__))
STEPS, ROWS = 20, 24
VOCABULARY, LENGTH, WIDTH, HEADS, BLOCKS = 61, 11, 24, 3, 2  # no vector's, no tile's multiples


class Classifier(nn.Module):
    """The mean of a text's embeddings, and a dense network on top."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(VOCABULARY, 13)
        self.hidden = nn.Linear(13, 29)
        self.out = nn.Linear(29, 7)

    def forward(self, tokens):
        return self.out(F.relu(self.hidden(self.table(tokens).mean(1))))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.project = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)
        self.register_buffer("mask", torch.tril(torch.ones(LENGTH, LENGTH)).view(1, 1, LENGTH, LENGTH))

    def attention(self, x):
        batch, length, _ = x.shape
        q, k, v = (y.view(batch, length, HEADS, WIDTH // HEADS).transpose(1, 2) for y in self.qkv(x).split(WIDTH, 2))
        scores = q @ k.transpose(-2, -1) / math.sqrt(WIDTH // HEADS)
        scores = scores.masked_fill(self.mask[:, :, :length, :length] == 0, float("-inf"))
        return self.project((scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, length, WIDTH))

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Gpt(nn.Module):
    """Learned positions, causal attention, and a head that shares its weight with the token table."""

    def __init__(self):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(VOCABULARY, WIDTH), nn.Embedding(LENGTH, WIDTH)
        self.blocks = nn.Sequential(*(Block() for _ in range(BLOCKS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, VOCABULARY, bias=False)
        nn.init.normal_(self.tokens.weight, std=0.1)
        self.head.weight = self.tokens.weight

    def forward(self, tokens):
        x = self.tokens(tokens) + self.positions(torch.arange(tokens.shape[1]))
        return self.head(self.norm(self.blocks(x)))


SPEC = """# Made by make_tokens.py.
model: "{name}.onnx"
feed {{ input: "tokens"  field: "tokens" }}
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "{labels}" }} }}
{rule}
data {{
  source {{ npz {{ path: "tokens.npz" }} }}
  stage {{ batch {{ size: {batch}  drop_remainder: true }} }}
}}
steps: {steps}
"""


def export(model, tokens, name):
    """Exports weights as they train: folding would add a second, transposed copy of the tied weight, and an export for evaluation would
    merge weights that are equal at first."""
    torch.onnx.export(model, (tokens,), os.path.join(HERE, f"{name}.onnx"), dynamo=False, opset_version=17,
                      do_constant_folding=False, training=torch.onnx.TrainingMode.TRAINING,
                      input_names=["tokens"], output_names=["logits"], dynamic_axes={"tokens": {0: "N"}, "logits": {0: "N"}})


def trajectory(model, make_optimizer, clip, batches):
    optimizer = make_optimizer(model.parameters())
    found = {"loss": [], "grad_norm": []}
    for tokens, labels in batches:
        logits = model(tokens)
        loss = F.cross_entropy(logits.reshape(-1, logits.shape[-1]), labels.reshape(-1))
        optimizer.zero_grad()
        loss.backward()
        if clip:
            found["grad_norm"].append(float(nn.utils.clip_grad_norm_(model.parameters(), clip)))
        optimizer.step()
        found["loss"].append(float(loss.detach()))
    return found if clip else {"loss": found["loss"]}


def write_case(name, make_model, labels, batch, rule, make_optimizer, clip=None):
    arrays = np.load(os.path.join(HERE, "tokens.npz"))
    whole = ROWS // batch  # batches of an epoch
    rows = [slice(i % whole * batch, (i % whole + 1) * batch) for i in range(STEPS)]
    batches = [tuple(torch.from_numpy(arrays[field][r].astype(np.int64)) for field in ("tokens", labels)) for r in rows]
    torch.manual_seed(5)
    model = make_model()
    tokens = torch.from_numpy(arrays["tokens"][:batch])
    export(model, tokens, name)
    weights = {key: value.clone() for key, value in model.state_dict().items()}
    rounded = trajectory(model, make_optimizer, clip, batches)
    model = make_model()
    model.load_state_dict(weights)
    exact = trajectory(model.double(), make_optimizer, clip, batches)
    with open(os.path.join(HERE, f"{name}.textproto"), "w") as file:
        file.write(SPEC.format(name=name, labels=labels, batch=batch, rule=rule, steps=STEPS))
    error = max(abs(a - b) / abs(a) for field in exact for a, b in zip(exact[field], rounded[field]))
    print(f"{name:12} loss {exact['loss'][0]:.5f} -> {exact['loss'][-1]:.5f}, f32 within {error:.1e}")
    return exact


def main():
    random = np.random.default_rng(8)
    text = (np.cumsum(random.integers(1, 4, (ROWS, LENGTH + 1)), 1) + random.integers(0, VOCABULARY, (ROWS, 1))) % VOCABULARY
    np.savez(os.path.join(HERE, "tokens.npz"), tokens=text[:, :-1].astype(np.int32), next=text[:, 1:].astype(np.int64),
             topic=random.integers(0, 7, ROWS))
    expected = {
        "embedding": write_case("embedding", Classifier, "topic", 5, "optimizer { momentum { learning_rate: 0.1  momentum: 0.9 } }",
                                lambda parameters: torch.optim.SGD(parameters, 0.1, 0.9)),
        "gpt": write_case("gpt", Gpt, "next", 4,
                          "optimizer { adamw { learning_rate: 0.001  weight_decay: 0.01 } }\nclip { global_norm: 1.0 }",
                          lambda parameters: torch.optim.AdamW(parameters, 0.001, weight_decay=0.01), clip=1.0),
    }
    with open(os.path.join(HERE, "expected-tokens.json"), "w") as file:
        json.dump(expected, file, indent=1)
        file.write("\n")


if __name__ == "__main__":
    main()
