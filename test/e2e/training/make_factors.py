"""Makes factors.onnx, two batched factors whose product is added to the input, with its spec and data.

    make_factors.py FOLDER
"""
import array
import os
import random
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), path) for path in ("../..", "../../bars")]
from bar import write_npy
from onnx_writer import FLOAT, INT64, Model

folder = sys.argv[1]
os.makedirs(folder, exist_ok=True)
numbers = random.Random(2)
model = Model("factors")
x = model.input("x", FLOAT, ["N", 32])
a = model.initializer("a", FLOAT, [2, 4, 8], [numbers.gauss(0, 1) for _ in range(64)])
b = model.initializer("b", FLOAT, [2, 8, 4], [numbers.gauss(0, 1) for _ in range(64)])
product = model.node("MatMul", [a, b], ["product"], "product")
shape = model.initializer("shape", INT64, [1], [32])
row = model.node("Reshape", [product, shape], ["row"], "row")
model.output(model.node("Add", [x, row], ["logits"], "shift"), FLOAT, ["N", 32])
model.save(os.path.join(folder, "factors.onnx"))
write_npy(os.path.join(folder, "x.npy"), array.array("f", [numbers.gauss(0, 1) for _ in range(24 * 32)]), (24, 32))
write_npy(os.path.join(folder, "labels.npy"), array.array("q", [numbers.randrange(32) for _ in range(24)]), (24,))
with open(os.path.join(folder, "factors.textproto"), "w") as file:
    file.write("""model: "factors.onnx"
loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }
optimizer { sgd { learning_rate: 0.1 } }
data {
  source { npy { field { name: "x"  path: "x.npy" } field { name: "labels"  path: "labels.npy" } } }
  stage { batch { size: 8  drop_remainder: true } }
}
""")
