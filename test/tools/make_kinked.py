"""Makes two networks whose losses have a kink nearly everywhere: a deep ReLU perceptron, and a 1-D convolution network with batch
normalization.

    make_kinked.py FOLDER
"""
import array
import math
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bars"))
from bar import write_mlp_job, write_npy
from onnx_writer import FLOAT, Model

folder = sys.argv[1]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(os.path.join(folder, "deep"))
os.makedirs(os.path.join(folder, "waves"))
write_mlp_job(os.path.join(folder, "deep"), (16,) + (64,) * 59 + (10,), 16, 2)

numbers = random.Random(9)
BATCH, LENGTH, CHANNELS, CLASSES = 8, 64, 32, 5
model = Model("waves", opset=17)
value, channels = model.input("x", FLOAT, ["N", 1, LENGTH]), 1
for layer in range(1, 6):
    def parameter(name, dims, values):
        return model.initializer(f"{name}{layer}", FLOAT, dims, values)

    scale = math.sqrt(2 / (3 * channels))
    weight = parameter("conv.weight", [CHANNELS, channels, 3],
                       [numbers.gauss(0, scale) for _ in range(CHANNELS * channels * 3)])
    bias = parameter("conv.bias", [CHANNELS], [0.0] * CHANNELS)
    value = model.node("Conv", [value, weight, bias], [f"conv{layer}.out"], f"conv{layer}", kernel_shape=[3],
                       pads=[1, 1])
    statistics = [parameter("bn.scale", [CHANNELS], [1.0] * CHANNELS), parameter("bn.bias", [CHANNELS], [0.0] * CHANNELS),
                  parameter("bn.mean", [CHANNELS], [0.0] * CHANNELS), parameter("bn.var", [CHANNELS], [1.0] * CHANNELS)]
    value = model.node("BatchNormalization", [value] + statistics, [f"bn{layer}.out"], f"bn{layer}")
    value = model.node("Relu", [value], [f"relu{layer}.out"], f"relu{layer}")
    channels = CHANNELS
value = model.node("GlobalAveragePool", [value], ["pooled"], "pool")
value = model.node("Flatten", [value], ["flat"], "flatten")
weight = model.initializer("fc.weight", FLOAT, [CHANNELS, CLASSES],
                           [numbers.gauss(0, 0.2) for _ in range(CHANNELS * CLASSES)])
model.node("Gemm", [value, weight, model.initializer("fc.bias", FLOAT, [CLASSES], [0.0] * CLASSES)], ["logits"], "fc")
model.output("logits", FLOAT, ["N", CLASSES])
model.save(os.path.join(folder, "waves/waves.onnx"))
rows = 2 * BATCH
write_npy(os.path.join(folder, "waves/x.npy"), array.array("f", (numbers.random() for _ in range(rows * LENGTH))),
          (rows, 1, LENGTH))
write_npy(os.path.join(folder, "waves/labels.npy"), array.array("q", (numbers.randrange(CLASSES) for _ in range(rows))),
          (rows,))
with open(os.path.join(folder, "waves/waves.textproto"), "w") as file:
    file.write(f"""model: "waves.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ adam {{}} }}
data {{
  source {{ npy {{ field {{ name: "x"  path: "x.npy" }} field {{ name: "labels"  path: "labels.npy" }} }} }}
  stage {{ batch {{ size: {BATCH}  drop_remainder: true }} }}
}}
""")
