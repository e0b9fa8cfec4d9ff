"""Averages of f16 and bf16 weights are f32: evaluated and exported in the type of the weights, they follow those of the same training in
f32.

    short_averages.py
"""
import json
import os
import random
import struct

from case import expect, path
from bar import DIGITS, events, gradc
from onnx_writer import BFLOAT16, FLOAT, FLOAT16, Model

NAMES = {FLOAT: "F32", FLOAT16: "F16", BFLOAT16: "BF16"}
# Of the rounding of weights and gradients; averages in the type of the weights were off by 1e-3 and 9e-2.
WITHIN = {FLOAT16: 2e-4, BFLOAT16: 2.5e-2}
SPEC = """model: "model.onnx"
feed {{ input: "x" field: "images" }}
loss {{ softmax_cross_entropy {{ logits: "logits" labels: "labels" }} }}
optimizer {{ adam {{ learning_rate: 3e-3 }} }}
{}
data {{
  source {{ npz {{ path: "{}" }} }}
  stage {{ map {{ field: "images" cast: F32 scale: 0.0625 }} }}
  stage {{ batch {{ size: 32 }} }}
}}
evaluation {{ data {{
  source {{ npz {{ path: "{}" }} }}
  stage {{ map {{ field: "images" cast: F32 scale: 0.0625 }} }}
  stage {{ batch {{ size: 32 }} }}
}} }}
"""
EMA = "ema {}"


def save(kind):
    numbers = random.Random(3)
    model = Model("linear", opset=18)
    x = model.input("x", FLOAT, ["N", 8, 8])
    flat = model.node("Flatten", [x], ["flat"], "flatten", axis=1)
    # Multiples of 1/64, which all types have.
    values = [numbers.randint(-8, 8) / 64 for _ in range(640)]
    data = b"".join(struct.pack("<f", value)[2:] for value in values) if kind == BFLOAT16 else None
    weight = model.initializer("weight", kind, [64, 10], None if data else values, data=data)
    narrow = model.node("Cast", [flat], ["narrow"], "narrow", to=kind)
    model.output(model.node("MatMul", [narrow, weight], ["logits"], "classify"), kind, ["N", 10])
    model.save(path("model.onnx"))


def write_spec(name, *options):
    data = os.path.join(DIGITS, "digits.npz")
    with open(path(name), "w") as file:
        file.write(SPEC.format("\n".join(options), data, data))
    return path(name)


def tensors(*arguments):
    """The type and bytes of each tensor of a safetensors export, by name."""
    gradc("export", *arguments, "-o", path("w.safetensors"))
    with open(path("w.safetensors"), "rb") as file:
        data = file.read()
    size = struct.unpack("<Q", data[:8])[0]
    header, values = json.loads(data[8:8 + size]), data[8 + size:]
    return {name: (t["dtype"], values[slice(*t["data_offsets"])]) for name, t in header.items()}


def train(kind):
    """The loss of the averages after 400 steps, and the norms of weight and gradient in the first."""
    save(kind)
    spec, name = write_spec("mean.textproto", EMA, "steps: 400", "watch { every: 1 }"), f"mean-{kind}"
    gradc("train", spec, "--log", path("log.jsonl"), "--checkpoint", path(name), "--export", path("mean.onnx"), "--quiet")
    exported = tensors(path(name))
    expect(f"exported are {exported.keys()}", list(exported) == ["weight"])
    dtype, values = exported["weight"]
    expect(f"the export has type {dtype}, not {NAMES[kind]}", dtype == NAMES[kind])
    with open(path("mean.onnx"), "rb") as file:
        expect("the model has other averages than the checkpoint", values in file.read())
    gradc("compile", spec, "-o", path("mean.so"), "--emit=so")
    expect("an artifact exports other averages", tensors(path("mean.so"), "--checkpoint", path(name)) == exported)
    gradc("train", spec, "--checkpoint", path(name), "--resume", "--steps", "201", "--quiet")
    watched = events(path("log.jsonl"), "watch")[0]
    return events(path("log.jsonl"), "eval")[-1]["loss"], watched["weight_norm"], watched["gradient_norm"]


def begin_at_weights(kind):
    """A checkpoint without averages starts them at its weights."""
    save(kind)
    gradc("train", write_spec("live.textproto", "steps: 20"), "--checkpoint", path(f"live-{kind}"), "--quiet")
    spec = write_spec("mean.textproto", EMA, "steps: 400")
    gradc("compile", spec, "-o", path("mean.so"), "--emit=so")
    expect("averages begin elsewhere", tensors(path("mean.so"), "--checkpoint", path(f"live-{kind}")) == tensors(path(f"live-{kind}")))


def main():
    wide, *norms = train(FLOAT)
    for kind, within in WITHIN.items():
        loss, *found = train(kind)
        expect(f"type {kind}: the averages' loss is {loss}, in f32 {wide}", abs(loss - wide) <= within * wide)
        for norm, expected in zip(found, norms):
            expect(f"type {kind}: a watched norm is {norm}, in f32 {expected}", abs(norm - expected) <= 0.05 * expected)
        begin_at_weights(kind)


main()
