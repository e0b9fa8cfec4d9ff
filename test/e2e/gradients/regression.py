"""A regression with one weight on 24 rows of two columns, x and y: its data, its training by gradc, and the comparison of its losses with those
of a formula."""
import array
import os
import random
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "../../bars"), os.path.join(HERE, "../..")]
from bar import events, gradc, write_npy

ROWS, BATCH, RATE, EPOCHS = 24, 6, 0.05, 2


class Regression:
    def __init__(self, folder, mean=0):
        """`mean`: of x."""
        self.folder = folder
        os.makedirs(folder, exist_ok=True)
        numbers = random.Random(7)
        self.rows = [(numbers.gauss(mean, 1), numbers.gauss(0, 1)) for _ in range(ROWS)]
        for name, column in ("x", 0), ("y", 1):
            write_npy(self.path(f"{name}.npy"), array.array("f", [row[column] for row in self.rows]), (ROWS, 1))

    def path(self, name):
        return os.path.join(self.folder, name)

    def batches(self):
        """The rows of each step."""
        for step in range(EPOCHS * ROWS // BATCH):
            begin = step * BATCH % ROWS
            yield self.rows[begin:begin + BATCH]

    def train(self, model, name="job", more=""):
        """The losses of a file's model, whose output is p. `more`: of the spec."""
        with open(self.path(f"{name}.textproto"), "w") as file:
            file.write(f"""model: "{model}"
loss {{ mean_squared_error {{ predictions: "p"  targets: "y" }} }}
optimizer {{ sgd {{ learning_rate: {RATE} }} }}
data {{
  source {{ npy {{ field {{ name: "x"  path: "x.npy" }} field {{ name: "y"  path: "y.npy" }} }} }}
  stage {{ batch {{ size: {BATCH} }} }}
}}
epochs: {EPOCHS}
{more}
""")
        gradc("train", self.path(f"{name}.textproto"), "--log", self.path(f"{name}.jsonl"), "--quiet")
        return [step["loss"] for step in events(self.path(f"{name}.jsonl"), "step")]


def follows(found, formula):
    return "follows" if max(abs(a - b) / b for a, b in zip(found, formula, strict=True)) < 1e-5 else "differs"
