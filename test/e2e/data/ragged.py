"""Padded rows of varying length: a loss under the mask is the mean over the existing values, whatever the padded length. Losses and the
weight follow the formula over the unpadded rows.

    ragged.py FOLDER
"""
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../bars"), os.path.join(HERE, "../..")]
from bar import events, gradc, write_ragged
from onnx_writer import FLOAT, Model

ROWS, BATCH, STEPS, RATE = 24, 6, 8, 0.05
folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
path = lambda name: os.path.join(folder, name)

numbers = random.Random(7)
rows = [[(numbers.gauss(0, 1), numbers.gauss(0, 1)) for _ in range(numbers.randrange(1, 9))] for _ in range(ROWS)]
write_ragged(path("rows.npz"), rows, ("x", "y"))

SPEC = """model: "{length}.onnx"
loss {{ mean_squared_error {{ predictions: "p"  targets: "y" }} {weights} }}
optimizer {{ sgd {{ learning_rate: {rate} }} }}
data {{
  source {{ npz {{ path: "rows.npz"  ragged {{ field: "x"  offsets: "ends" }} ragged {{ field: "y"  offsets: "ends" }} }} }}
  stage {{ map {{ field: "x"  pad {{ shape: {length}  value: 3  mask: "mask" }} }} }}
  stage {{ map {{ field: "y"  pad {{ shape: {length} }} }} }}
  stage {{ batch {{ size: {batch} }} }}
}}
steps: {steps}
"""


def losses(length, weights='sample_weights: "mask"'):
    model = Model("scaled")
    p = model.node("Mul", [model.input("x", FLOAT, ["N", length]), model.initializer("w", FLOAT, [1], [0.5])], ["p"], "scale")
    model.output(p, FLOAT, ["N", length])
    model.save(path(f"{length}.onnx"))
    with open(path("spec.textproto"), "w") as file:
        file.write(SPEC.format(length=length, weights=weights, rate=RATE, batch=BATCH, steps=STEPS))
    gradc("train", path("spec.textproto"), "--log", path("log.jsonl"), "--quiet")
    return [step["loss"] for step in events(path("log.jsonl"), "step")]


def expected():
    w, found = 0.5, []
    for step in range(STEPS):
        begin = step * BATCH % ROWS
        pairs = [pair for row in rows[begin:begin + BATCH] for pair in row]
        found.append(sum((w * x - y) ** 2 for x, y in pairs) / len(pairs))
        w -= RATE * sum(2 * (w * x - y) * x for x, y in pairs) / len(pairs)
    return found


wanted = expected()
off = lambda found: max(abs(a - b) / b for a, b in zip(found, wanted, strict=True))
for length in 8, 21:
    print(f"padded to {length}: {'follows' if off(losses(length)) < 1e-5 else 'DIFFERS'}")
print(f"without the mask: {'differs' if off(losses(21, '')) > 1e-2 else 'FOLLOWS'}")
