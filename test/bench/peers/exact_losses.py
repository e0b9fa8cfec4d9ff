"""The first losses of a perceptron that trains with Adam, computed in f64: what trainings in f32 are measured by.

    exact_losses.py MODEL.onnx DATA BATCH [STEPS]    DATA: an .npz, or a folder of .npy files, with x and labels

Prints one JSON object: "losses", and for each step "nearest", the smallest distance of a ReLU's operand from 0. Where that is below the
roundings of f32, another order of sums may put the operand on the other side.
"""
import json
import os
import sys

import numpy as np

from workloads import ROOT

sys.path.insert(0, os.path.join(ROOT, "test"))
from onnx_writer import fields

RATE, BETA1, BETA2, EPSILON = 1e-3, 0.9, 0.999, 1e-8  # defaults of the spec


def messages(data, wanted):
    return [value for number, value in fields(data) if number == wanted]


def read_layers(path):
    """[(weight [in, out], bias, the activation's op or "")], from Gemm nodes and what follows each of them."""
    with open(path, "rb") as file:
        graph = messages(file.read(), 7)[0]
    values, layers = {}, []
    for tensor in messages(graph, 5):
        values[messages(tensor, 8)[0].decode()] = np.frombuffer(messages(tensor, 9)[0], "<f4").reshape(messages(tensor, 1)).astype(float)
    for node in messages(graph, 1):
        op = messages(node, 4)[0].decode()
        if op == "Gemm":
            weight, bias = (values[name.decode()] for name in messages(node, 1)[1:])
            is_transposed = any(b"transB" in messages(attribute, 1) for attribute in messages(node, 5))
            layers.append((weight.T if is_transposed else weight, bias, ""))
        elif op in ("Relu", "Tanh"):
            layers[-1] = (*layers[-1][:2], op)
        else:
            assert op == "Identity", op
    return layers


def step(layers, x, labels):
    """The loss, its gradients in the order of the parameters, and the nearest operand of a ReLU."""
    inputs, nearest = [x], np.inf
    for weight, bias, op in layers:
        value = inputs[-1] @ weight + bias
        if op == "Relu":
            nearest = min(nearest, float(np.abs(value).min()))
        inputs.append({"Relu": lambda v: np.maximum(v, 0), "Tanh": np.tanh, "": lambda v: v}[op](value))
    logits = inputs[-1] - inputs[-1].max(1, keepdims=True)
    powers, rows = np.exp(logits), np.arange(len(x))
    loss = np.mean(np.log(powers.sum(1)) - logits[rows, labels])
    gradient = powers / powers.sum(1, keepdims=True)
    gradient[rows, labels] -= 1
    gradient /= len(x)
    gradients = []
    for i, (weight, bias, op) in reversed(list(enumerate(layers))):
        out = inputs[i + 1]
        gradient = gradient * {"Relu": lambda: out > 0, "Tanh": lambda: 1 - out**2, "": lambda: 1}[op]()
        gradients[:0] = [inputs[i].T @ gradient, gradient.sum(0)]
        gradient = gradient @ weight.T
    return float(loss), gradients, nearest


def train(layers, x, labels, batch, steps):
    parameters = [value for weight, bias, _ in layers for value in (weight, bias)]
    first, second = ([np.zeros_like(p) for p in parameters] for _ in range(2))
    losses, nearest = [], []
    for t in range(steps):
        rows = np.arange(t * batch, (t + 1) * batch) % (len(x) // batch * batch)
        current = [(parameters[2 * i], parameters[2 * i + 1], op) for i, (_, _, op) in enumerate(layers)]
        loss, gradients, least = step(current, x[rows].astype(float), labels[rows])
        losses.append(loss)
        nearest.append(least)
        for i, g in enumerate(gradients):
            first[i] = BETA1 * first[i] + (1 - BETA1) * g
            second[i] = BETA2 * second[i] + (1 - BETA2) * g * g
            mean, square = first[i] / (1 - BETA1 ** (t + 1)), second[i] / (1 - BETA2 ** (t + 1))
            parameters[i] = parameters[i] - RATE * mean / (np.sqrt(square) + EPSILON)
    return {"losses": losses, "nearest": nearest}


def main(model, data, batch, steps=20):
    if os.path.isdir(data):
        arrays = {name: np.load(os.path.join(data, f"{name}.npy")) for name in ("x", "labels")}
    else:
        arrays = np.load(data)
    print(json.dumps(train(read_layers(model), arrays["x"], arrays["labels"], int(batch), int(steps))))


main(*sys.argv[1:])
