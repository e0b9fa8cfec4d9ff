"""Windows over a table: losses follow the formula over successive rows, and predictions reach to its last row.

    windows.py FOLDER [DILATION]
"""
import csv
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../bars"), os.path.join(HERE, "../..")]
from bar import events, gradc
from onnx_writer import FLOAT, Model

ROWS, END, LENGTH, BATCH, RATE = 30, 20, 3, 4, 0.05
folder = sys.argv[1]
DILATION = int(sys.argv[2]) if len(sys.argv) > 2 else 1
NEXT = LENGTH * DILATION  # from a window's first row to the row that it predicts
os.makedirs(folder, exist_ok=True)
path = lambda name: os.path.join(folder, name)

numbers = random.Random(7)
series = [(numbers.gauss(0, 1), numbers.gauss(0, 1)) for _ in range(ROWS)]
with open(path("series.csv"), "w") as file:
    file.write("a,b\n" + "".join(f"{a!r},{b!r}\n" for a, b in series))

model = Model("linear")
flat = model.node("Flatten", [model.input("x", FLOAT, ["N", LENGTH, 2])], ["flat"], "flatten")
weights = [[numbers.gauss(0, 0.3) for _ in range(2)] for _ in range(2 * LENGTH)]
p = model.node("MatMul", [flat, model.initializer("w", FLOAT, [2 * LENGTH, 2], [v for row in weights for v in row])], ["p"], "fc")
model.output(p, FLOAT, ["N", 2])
model.save(path("linear.onnx"))

DATA = """data {{
    source {{ csv {{ path: "series.csv"  field {{ name: "values"  column: "a"  column: "b" }} rows {{ {rows} }} }} }}
    stage {{ window {{ length: 3  {dilation} ahead {{ field: "values"  name: "next" }} }} }}
    stage {{ batch {{ size: 4 }} }}
  }}"""
data = lambda rows: DATA.format(rows=rows, dilation=f"dilation: {DILATION}" if DILATION > 1 else "")
with open(path("spec.textproto"), "w") as file:
    file.write(f"""model: "linear.onnx"
feed {{ input: "x"  field: "values" }}
loss {{ mean_squared_error {{ predictions: "p"  targets: "next" }} }}
optimizer {{ sgd {{ learning_rate: {RATE} }} }}
{data(f"end: {END}")}
evaluation {{ {data(f"begin: {END}")} }}
checkpoint {{ directory: "run" }}
epochs: 2
""")
gradc("train", path("spec.textproto"), "--log", path("log.jsonl"), "--quiet")


def window(begin):
    return [value for row in series[begin:begin + NEXT:DILATION] for value in row]


def predicted(begin):
    return [sum(x * row[k] for x, row in zip(window(begin), weights)) for k in range(2)]


def loss(begins):
    return sum((p - t) ** 2 for begin in begins for p, t in zip(predicted(begin), series[begin + NEXT])) / (2 * len(begins))


def update(begins):
    errors = {begin: [p - t for p, t in zip(predicted(begin), series[begin + NEXT])] for begin in begins}
    for i, row in enumerate(weights):
        for k in range(2):
            row[k] -= RATE * sum(errors[begin][k] * window(begin)[i] for begin in begins) / len(begins)


wanted = []
for _ in range(2):
    for first in range(0, END - NEXT, BATCH):
        begins = range(first, min(first + BATCH, END - NEXT))
        wanted.append(loss(begins))
        update(begins)
near = lambda a, b: abs(a - b) <= 1e-4 * max(abs(b), 1e-2)
found = [step["loss"] for step in events(path("log.jsonl"), "step")]
print("steps:", "follow" if len(found) == len(wanted) and all(map(near, found, wanted)) else f"{found}, expected {wanted}")
evaluated = events(path("log.jsonl"), "eval")[-1]["loss"]
expected = loss(range(END, ROWS - NEXT))
print("evaluation:", "follows" if near(evaluated, expected) else f"{evaluated}, expected {expected}")

gradc("predict", path("spec.textproto"), "--checkpoint", path(f"run/step-{len(wanted)}.ckpt"), "--data", path("series.csv"), "-o", path("predictions.csv"))
with open(path("predictions.csv")) as file:
    lines = [[float(cell) for cell in line[-2:]] for line in list(csv.reader(file))[1:]]
right = all(near(a, b) for begin, line in enumerate(lines) for a, b in zip(line, predicted(begin)))
print(len(lines), "predictions:", "follow" if right else lines)
