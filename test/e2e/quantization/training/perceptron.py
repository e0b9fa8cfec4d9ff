"""A perceptron and rows to train it for quantization; its trainers, and what their exports hold.

Scripts import it first: it puts the folders of the other modules on the path.
"""
import array
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
from case import path
from bar import events, gradc, read_npy, run, write_npy
from onnx_writer import FLOAT, Model, fields

ROWS, BATCH, STEPS, RATE, MOMENTUM = 24, 6, 12, 0.2, 0.8
INPUTS, HIDDEN, CLASSES = 5, 9, 3
numbers = random.Random(11)


def draws(count, deviation=1.0):
    return list(array.array("f", (numbers.gauss(0, deviation) for _ in range(count))))


def tables(values, columns):
    return [values[i:i + columns] for i in range(0, len(values), columns)]


WEIGHTS = {"fc1.weight": draws(HIDDEN * INPUTS, 0.6), "fc1.bias": draws(HIDDEN, 0.3), "fc2": draws(HIDDEN * CLASSES, 0.5)}
ROWS_IN, LABELS = draws(ROWS * INPUTS), [numbers.randrange(CLASSES) for _ in range(ROWS)]
write_npy(path("x.npy"), array.array("f", ROWS_IN), (ROWS, INPUTS))
write_npy(path("labels.npy"), array.array("q", LABELS), (ROWS,))


def save_perceptron(opset=19, more=None):
    model = Model("perceptron", opset=opset)
    if more:
        model.initializer(more[0], FLOAT, more[1], draws(math.prod(more[1])))
    x = model.input("x", FLOAT, ["N", INPUTS])
    model.initializer("fc1.weight", FLOAT, [HIDDEN, INPUTS], WEIGHTS["fc1.weight"])
    model.initializer("fc1.bias", FLOAT, [HIDDEN], WEIGHTS["fc1.bias"])
    model.initializer("fc2", FLOAT, [HIDDEN, CLASSES], WEIGHTS["fc2"])
    h = model.node("Relu", [model.node("Gemm", [x, "fc1.weight", "fc1.bias"], ["a"], "fc1", transB=1)], ["h"], "relu")
    model.output(model.node("MatMul", [h, "fc2"], ["logits"], "fc2"), FLOAT, ["N", CLASSES])
    model.save(path("model.onnx"))


def spec(name, more, field="x", steps=STEPS):
    with open(path(name + ".textproto"), "w") as file:
        file.write(f"""model: "model.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ sgd {{ learning_rate: {RATE} }} }}
data {{ source {{ npy {{ field {{ name: "{field}"  path: "{field}.npy" }} field {{ name: "labels"  path: "labels.npy" }} }} }}
  stage {{ batch {{ size: {BATCH} }} }} }}
steps: {steps}
{more}
""")
    return path(name + ".textproto")


def train(name, more, *options, **how):
    """The trainer, and the losses of its steps."""
    gradc("compile", spec(name, more, **how), "-o", path(name))
    return path(name), losses(name, *options)


def losses(name, *options):
    run(path(name), "--data-dir", path("."), "--log", path("log.jsonl"), "--export", path(name + ".onnx"), "--quiet", *options)
    return [event["loss"] for event in events(path("log.jsonl"), "step")]


def initializers(name):
    """(type, dims, bytes) of the initializers of an exported model."""
    with open(path(name + ".onnx"), "rb") as file:
        graph = next(value for number, value in fields(file.read()) if number == 7)
    found = {}
    for number, value in fields(graph):
        if number == 5:
            tensor = list(fields(value))
            one = dict(tensor)
            found[one[8].decode()] = one[2], one.get(9, b"")
    return found


def outputs(file, field):
    gradc("run", file, "--input", f"{field}={path(field + '.npy')}", "--output-dir", path("out"))
    with open(path("out/logits.npy"), "rb") as result:
        return read_npy(result.read())[1]
