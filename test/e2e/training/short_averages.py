"""Averages of f16 and bf16 weights are f32: evaluated and exported in the type of the weights, they follow those of the same training in
f32.

    short_averages.py
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, path
from bar import DIGITS, events, gradc, read_safetensors
from linear_digits import save
from onnx_writer import BFLOAT16, FLOAT, FLOAT16

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


def write_spec(name, *options):
    data = os.path.join(DIGITS, "digits.npz")
    with open(path(name), "w") as file:
        file.write(SPEC.format("\n".join(options), data, data))
    return path(name)


def exported_tensors(*arguments):
    """The type and bytes of each tensor of an export, by name."""
    gradc("export", *arguments, "-o", path("w.safetensors"))
    return read_safetensors(path("w.safetensors"))


def train(kind):
    """The loss of the averages after 400 steps, and the norms of weight and gradient in the first."""
    save(kind)
    spec, name = write_spec("mean.textproto", EMA, "steps: 400", "watch { every: 1 }"), f"mean-{kind}"
    gradc("train", spec, "--log", path("log.jsonl"), "--checkpoint", path(name), "--export", path("mean.onnx"), "--quiet")
    exported = exported_tensors(path(name))
    expect(f"exported are {exported.keys()}", list(exported) == ["weight"])
    dtype, values = exported["weight"]
    expect(f"the export has type {dtype}, not {NAMES[kind]}", dtype == NAMES[kind])
    with open(path("mean.onnx"), "rb") as file:
        expect("the model has other averages than the checkpoint", values in file.read())
    gradc("compile", spec, "-o", path("mean.so"), "--emit=so")
    expect("an artifact exports other averages", exported_tensors(path("mean.so"), "--checkpoint", path(name)) == exported)
    gradc("train", spec, "--checkpoint", path(name), "--resume", "--steps", "201", "--quiet")
    watched = events(path("log.jsonl"), "watch")[0]
    return events(path("log.jsonl"), "eval")[-1]["loss"], watched["weight_norm"], watched["gradient_norm"]


def begin_at_weights(kind):
    """A checkpoint without averages starts them at its weights."""
    save(kind)
    gradc("train", write_spec("live.textproto", "steps: 20"), "--checkpoint", path(f"live-{kind}"), "--quiet")
    spec = write_spec("mean.textproto", EMA, "steps: 400")
    gradc("compile", spec, "-o", path("mean.so"), "--emit=so")
    expect("averages begin elsewhere", exported_tensors(path("mean.so"), "--checkpoint", path(f"live-{kind}")) == exported_tensors(path(f"live-{kind}")))


def main():
    wide, *norms = train(FLOAT)
    for kind, within in WITHIN.items():
        loss, *found = train(kind)
        expect(f"type {kind}: the averages' loss is {loss}, in f32 {wide}", abs(loss - wide) <= within * wide)
        for norm, expected in zip(found, norms):
            expect(f"type {kind}: a watched norm is {norm}, in f32 {expected}", abs(norm - expected) <= 0.05 * expected)
        begin_at_weights(kind)


main()
