"""Makes convolutions.onnx, a network of convolutions that 16-bit kernels compute in each way there is, with its spec and data: windows of 3x3
over large and small pictures, 1x1, a stride, and groups.

    bf16_convolutions.py FOLDER PRECISION
"""
import array
import os
import random
import sys

sys.path[:0] = [os.path.join(os.path.dirname(os.path.abspath(__file__)), path) for path in ("../..", "../../bars")]
from bar import write_npy
from onnx_writer import FLOAT, Model

folder, precision = sys.argv[1:]
ROWS, SIZE, CLASSES = 13, 10, 10
# Name, input and output channels, window, stride, groups.
LAYERS = [("first", 3, 32, 3, 1, 1), ("large", 32, 32, 3, 1, 1), ("point", 32, 64, 1, 1, 1), ("stride", 64, 64, 3, 2, 1),
          ("small", 64, 96, 3, 1, 1), ("groups", 96, 96, 3, 1, 4)]
os.makedirs(folder, exist_ok=True)
numbers = random.Random(2)


def weights(name, shape, inputs):
    count = 1
    for size in shape:
        count *= size
    return model.initializer(name, FLOAT, shape, [numbers.gauss(0, (2 / inputs)**0.5) for _ in range(count)])


model = Model("convolutions")
value = model.input("x", FLOAT, ["N", 3, SIZE, SIZE])
for name, inputs, outputs, window, stride, groups in LAYERS:
    filters = weights(f"{name}_w", [outputs, inputs // groups, window, window], inputs // groups * window * window)
    bias = weights(f"{name}_b", [outputs], 100)
    value = model.node("Conv", [value, filters, bias], [f"{name}_y"], name, pads=[window // 2] * 4, strides=[stride] * 2,
                       group=groups)
    value = model.node("Relu", [value], [f"{name}_r"], f"{name}_relu")
value = model.node("GlobalAveragePool", [value], ["pooled"], "pool")
value = model.node("Flatten", [value], ["features"], "flatten")
value = model.node("Gemm", [value, weights("head_w", [96, CLASSES], 96), weights("head_b", [CLASSES], 100)], ["logits"], "head")
model.output(value, FLOAT, ["N", CLASSES])
model.save(os.path.join(folder, "convolutions.onnx"))
shape = (ROWS, 3, SIZE, SIZE)
write_npy(os.path.join(folder, "x.npy"), array.array("f", [numbers.gauss(0, 1) for _ in range(ROWS * 3 * SIZE * SIZE)]), shape)
write_npy(os.path.join(folder, "labels.npy"), array.array("q", [numbers.randrange(CLASSES) for _ in range(ROWS)]), (ROWS,))
with open(os.path.join(folder, "train.textproto"), "w") as file:
    file.write(f"""model: "convolutions.onnx"
precision: {precision}
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ sgd {{ learning_rate: 0.01 }} }}
data {{
  source {{ npy {{ field {{ name: "x"  path: "x.npy" }} field {{ name: "labels"  path: "labels.npy" }} }} }}
  stage {{ batch {{ size: 6 }} }}
}}
""")
