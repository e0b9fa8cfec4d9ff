"""A model with a value that PyTorch's exporter has marked as detached: losses follow the formula without the gradient through it.

    detached.py FOLDER
"""
import array
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../bars"), os.path.join(HERE, "../..")]
from bar import events, gradc, write_npy
from onnx_writer import FLOAT, Model

ROWS, BATCH, RATE = 24, 6, 0.05
folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
path = lambda name: os.path.join(folder, name)

numbers = random.Random(7)
rows = [(numbers.gauss(0, 1), numbers.gauss(0, 1)) for _ in range(ROWS)]
for name, column in ("x", 0), ("y", 1):
    write_npy(path(f"{name}.npy"), array.array("f", [row[column] for row in rows]), (ROWS, 1))

# p = w x + detach(w x)
model = Model("detached")
product = model.node("Mul", [model.input("x", FLOAT, ["N", 1]), model.initializer("w", FLOAT, [1], [0.5])], ["product"], "scale")
model.output(model.node("Add", [product, model.detach(product, "detach")], ["p"], "sum"), FLOAT, ["N", 1])
model.save(path("detached.onnx"))
with open(path("spec.textproto"), "w") as file:
    file.write(f"""model: "detached.onnx"
loss {{ mean_squared_error {{ predictions: "p"  targets: "y" }} }}
optimizer {{ sgd {{ learning_rate: {RATE} }} }}
data {{
  source {{ npy {{ field {{ name: "x"  path: "x.npy" }} field {{ name: "y"  path: "y.npy" }} }} }}
  stage {{ batch {{ size: {BATCH} }} }}
}}
epochs: 2
""")
gradc("train", path("spec.textproto"), "--log", path("log.jsonl"), "--quiet")
found = [step["loss"] for step in events(path("log.jsonl"), "step")]


def follows(paths):
    """Whether the losses are those where `paths` of the two operands of the sum have a gradient."""
    w, wanted = 0.5, []
    for step in range(2 * ROWS // BATCH):
        begin = step * BATCH % ROWS
        pairs = rows[begin:begin + BATCH]
        wanted.append(sum((2 * w * x - y) ** 2 for x, y in pairs) / BATCH)
        w -= RATE * sum(2 * (2 * w * x - y) * paths * x for x, y in pairs) / BATCH
    return max(abs(a - b) / b for a, b in zip(found, wanted, strict=True)) < 1e-5


print("one path:", "follows" if follows(1) else "differs")
print("both paths:", "follows" if follows(2) else "differs")
