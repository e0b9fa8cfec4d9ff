"""A model that subtracts an average of its own, a buffer that PyTorch's exporter has recorded as updated: losses follow the formula in which each
step moves the average and passes it no gradient, also in two parts, whose averages follow each other.

    buffers.py FOLDER
"""
import array
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../bars"), os.path.join(HERE, "../..")]
from bar import events, gradc, write_npy
from onnx_writer import FLOAT, Model

ROWS, BATCH, RATE, KEEP = 24, 6, 0.05, 0.75
folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
path = lambda name: os.path.join(folder, name)

numbers = random.Random(7)
rows = [(numbers.gauss(1, 1), numbers.gauss(0, 1)) for _ in range(ROWS)]
for name, column in ("x", 0), ("y", 1):
    write_npy(path(f"{name}.npy"), array.array("f", [row[column] for row in rows]), (ROWS, 1))

# p = w x - average', where average' = KEEP average + (1 - KEEP) mean(w x)
model = Model("buffers")
product = model.node("Mul", [model.input("x", FLOAT, ["N", 1]), model.of_module("PARAMETER", "w", FLOAT, [1], [0.5])], ["product"], "scale")
mean = model.node("ReduceMean", [product], ["mean"], "mean", axes=[0], keepdims=0)
old = model.node("Mul", [model.of_module("BUFFER", "average", FLOAT, [1], [0.0]), model.initializer("keep", FLOAT, [], [KEEP])], ["old"], "old")
new = model.node("Mul", [mean, model.initializer("take", FLOAT, [], [1 - KEEP])], ["new"], "new")
model.output(model.node("Sub", [product, model.node("Add", [old, new], ["add"], "update")], ["p"], "center"), FLOAT, ["N", 1])
model.update_buffers({"add": "average"})
model.save(path("buffers.onnx"))


def train(name, more):
    with open(path(f"{name}.textproto"), "w") as file:
        file.write(f"""model: "buffers.onnx"
loss {{ mean_squared_error {{ predictions: "p"  targets: "y" }} }}
optimizer {{ sgd {{ learning_rate: {RATE} }} }}
data {{
  source {{ npy {{ field {{ name: "x"  path: "x.npy" }} field {{ name: "y"  path: "y.npy" }} }} }}
  stage {{ batch {{ size: {BATCH} }} }}
}}
epochs: 2
{more}
""")
    gradc("train", path(f"{name}.textproto"), "--log", path(f"{name}.jsonl"), "--quiet")
    return [step["loss"] for step in events(path(f"{name}.jsonl"), "step")]


def wanted(parts=1, moves=True, passes=False):
    """The losses, if each of the `parts` of a batch `moves` the average and `passes` it the gradient."""
    w, average, losses = 0.5, 0.0, []
    for step in range(2 * ROWS // BATCH):
        begin, loss, gradient = step * BATCH % ROWS, 0.0, 0.0
        for part in range(parts):
            size = BATCH // parts
            pairs = rows[begin + part * size:begin + (part + 1) * size]
            mean = sum(x for x, _ in pairs) / size
            now = KEEP * average + (1 - KEEP) * w * mean
            loss += sum((w * x - now - y) ** 2 for x, y in pairs) / BATCH
            gradient += sum(2 * (w * x - now - y) * (x - passes * (1 - KEEP) * mean) for x, y in pairs) / BATCH
            average = now if moves else average
        losses.append(loss)
        w -= RATE * gradient
    return losses


def follows(found, formula):
    return "follows" if max(abs(a - b) / b for a, b in zip(found, formula, strict=True)) < 1e-5 else "differs"


whole, halves, still = train("whole", ""), train("halves", "micro_batches: 2"), train("still", 'freeze: "average"')
print("updated:", follows(whole, wanted()))
print("in two parts:", follows(halves, wanted(parts=2)))
print("frozen:", follows(still, wanted(moves=False)))
print("not updated:", follows(whole, wanted(moves=False)))
print("with its gradient:", follows(whole, wanted(passes=True)))
