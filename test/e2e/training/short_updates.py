"""Training of a model whose parameters are f16 or bf16: the losses of each optimizer are those of the same model in f32.

    short_updates.py
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, path
from bar import DIGITS, events, gradc
from linear_digits import save
from onnx_writer import BFLOAT16, FLOAT, FLOAT16

# Of f16's and bf16's rounding of parameters, activations and gradients.
WITHIN = {FLOAT16: 1e-3, BFLOAT16: 5e-3}
# Most pixels have small gradients, whose squares vanish in f16, and those at the border have none.
OPTIMIZERS = ["adam { learning_rate: 3e-3 }", "adam { learning_rate: 3e-3 amsgrad: true }", "nadam { learning_rate: 3e-3 }",
              "rmsprop { learning_rate: 1e-3 }", "lamb { learning_rate: 3e-2 }"]
CASES = [(optimizer, "") for optimizer in OPTIMIZERS] + [(OPTIMIZERS[0], "micro_batches: 4  clip { global_norm: 0.5 }")]
SPEC = """model: "model.onnx"
feed {{ input: "x" field: "images" }}
loss {{ softmax_cross_entropy {{ logits: "logits" labels: "labels" }} }}
optimizer {{ {} }}
{}
data {{
  source {{ npz {{ path: "{}" }} }}
  stage {{ map {{ field: "images" cast: F32 scale: 0.0625 }} }}
  stage {{ batch {{ size: 32 }} }}
}}
steps: 20
"""


def losses(kind, optimizer, more):
    save(kind)
    with open(path("train.textproto"), "w") as file:
        file.write(SPEC.format(optimizer, more, os.path.join(DIGITS, "digits.npz")))
    gradc("train", path("train.textproto"), "--log", path("log.jsonl"), "--quiet")
    return [step["loss"] for step in events(path("log.jsonl"), "step")]


def main():
    for optimizer, more in CASES:
        expected = losses(FLOAT, optimizer, more)
        expect(f"{optimizer} {more}: the losses fall, {expected}", len(expected) == 20 and expected[-1] < expected[0])
        for kind, within in WITHIN.items():
            for step, (found, wide) in enumerate(zip(losses(kind, optimizer, more), expected), start=1):
                expect(f"{optimizer} {more}, type {kind}: loss {found} of step {step}, in f32 {wide}",
                       found is not None and abs(found - wide) <= within * wide)


main()
