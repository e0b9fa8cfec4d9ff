"""Two jobs over the same parameters that store one of them in different orders: each resumes from the other's checkpoint.

    stored_order.py
"""
import array
import os
import random
import re
import shutil
import struct
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, folder, path
from bar import compile_spec, events, gradc, run, write_npy
from onnx_writer import FLOAT, Model

ROWS, WIDTH, HIDDEN, CLASSES = 40, 12, 24, 5


def write_model(name, reads_both_ways):
    """In PyTorch's form, weights are [out, in] and products transpose them. A second output may read a weight without transposing it."""
    numbers = random.Random(3)
    model = Model("mlp")

    def weight(name, *dims):
        size = dims[0] * (dims[1] if len(dims) > 1 else 1)
        return model.initializer(name, FLOAT, dims, [numbers.gauss(0, 0.3) for _ in range(size)])

    first, second = weight("fc1.weight", HIDDEN, WIDTH), weight("fc2.weight", CLASSES, HIDDEN)
    h = model.node("Gemm", [model.input("x", FLOAT, ["N", WIDTH]), first, weight("fc1.bias", HIDDEN)], ["h"], "fc1", transB=1)
    h = model.node("Relu", [h], ["r"], "relu")
    y = model.node("Gemm", [h, second, weight("fc2.bias", CLASSES)], ["logits"], "fc2", transB=1)
    model.output(y, FLOAT, ["N", CLASSES])
    if reads_both_ways:
        model.output(model.node("Mul", [first, first], ["squares"], "squares"), FLOAT, [HIDDEN, WIDTH])
    model.save(path(name + ".onnx"))


def model_hash(program):
    """From the artifact that the program contains, by its header in gradc/artifact.h."""
    at = program.rindex(b"GRADCART", 0, len(program) - 8)  # which end with the word, too
    return struct.unpack_from("<8sIIQQQ", program, at)[5]


def write_spec(name):
    with open(path(name + ".textproto"), "w") as file:
        file.write(f"""model: "{name}.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ adam {{ learning_rate: 0.01 }} }}
data {{
  source {{ npy {{ field {{ name: "x"  path: "x.npy" }} field {{ name: "labels"  path: "labels.npy" }} }} }}
  stage {{ shuffle {{}} }} stage {{ batch {{ size: 8 }} }}
}}
epochs: 4  seed: 3
""")
    return path(name + ".textproto")


numbers = random.Random(4)
write_npy(path("x.npy"), array.array("f", (numbers.gauss(0, 1) for _ in range(ROWS * WIDTH))), (ROWS, WIDTH))
write_npy(path("labels.npy"), array.array("q", (numbers.randrange(CLASSES) for _ in range(ROWS))), (ROWS,))
trainers, orders, hashes = {}, {}, {}
for name, both in ("turned", False), ("straight", True):
    write_model(name, both)
    spec = write_spec(name)
    trainers[name] = compile_spec(spec, folder)
    gradc("plan", spec, "--dump-after-each", path(name + ".passes"))
    last = max(os.listdir(path(name + ".passes")))
    with open(os.path.join(path(name + ".passes"), last)) as file:
        orders[name] = re.findall(r"grad\.state +parameter @fc1\.weight : [^=]*", file.read())
    with open(trainers[name], "rb") as file:
        hashes[name] = model_hash(file.read())
expect("they store the weight in different orders", orders["turned"] and orders["turned"] != orders["straight"])
expect("the states are the same to a checkpoint", hashes["turned"] == hashes["straight"])


def train(name, steps, *options):
    run(trainers[name], "--data-dir", folder, "--log", path("log.jsonl"), "--checkpoint", path("run"), "--steps", str(steps), "--quiet", *options, cwd=folder)
    return [event["loss"] for event in events(path("log.jsonl"), "step")]


for first, second in ("turned", "straight"), ("straight", "turned"):
    whole = train(first, 20)
    shutil.rmtree(path("run"))
    train(first, 7)
    losses = train(second, 20, "--resume")
    shutil.rmtree(path("run"))
    expect(f"{second} goes on where {first} stopped", len(losses) >= 13 and
           all(abs(a - b) < 1e-5 * b for a, b in zip(losses[-13:], whole[-13:], strict=True)))
