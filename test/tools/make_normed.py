"""Makes a training job in 16 bits whose convolutions have biases that a normalization removes: normed.onnx and normed.textproto. Each norm is
over 11 numbers, so that 1 / 11 of a mean is not exact.

    make_normed.py FOLDER
"""
import array
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bars"))
from bar import write_npy
from onnx_writer import FLOAT, Model

folder = sys.argv[1]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)

numbers = random.Random(9)
BATCH, LENGTH, CHANNELS, CLASSES = 6, 11, 4, 5
model = Model("normed", opset=17)
value, channels = model.input("x", FLOAT, ["N", 1, LENGTH]), 1
for layer in range(1, 4):
    weight = model.initializer(f"conv.weight{layer}", FLOAT, [CHANNELS, channels, 3],
                               [numbers.gauss(0, 0.5) for _ in range(CHANNELS * channels * 3)])
    bias = model.initializer(f"conv.bias{layer}", FLOAT, [CHANNELS], [0.0] * CHANNELS)
    value = model.node("Conv", [value, weight, bias], [f"conv{layer}.out"], f"conv{layer}", kernel_shape=[3], pads=[1, 1])
    scale = model.initializer(f"norm.scale{layer}", FLOAT, [CHANNELS], [1.0] * CHANNELS)
    shift = model.initializer(f"norm.bias{layer}", FLOAT, [CHANNELS], [0.0] * CHANNELS)
    value = model.node("InstanceNormalization", [value, scale, shift], [f"norm{layer}.out"], f"norm{layer}")
    value = model.node("Relu", [value], [f"relu{layer}.out"], f"relu{layer}")
    channels = CHANNELS
value = model.node("GlobalAveragePool", [value], ["pooled"], "pool")
value = model.node("Flatten", [value], ["flat"], "flatten")
weight = model.initializer("fc.weight", FLOAT, [CHANNELS, CLASSES], [numbers.gauss(0, 0.2) for _ in range(CHANNELS * CLASSES)])
model.node("Gemm", [value, weight, model.initializer("fc.bias", FLOAT, [CLASSES], [0.0] * CLASSES)], ["logits"], "fc")
model.output("logits", FLOAT, ["N", CLASSES])
model.save(os.path.join(folder, "normed.onnx"))
rows = 2 * BATCH
write_npy(os.path.join(folder, "x.npy"), array.array("f", (numbers.random() for _ in range(rows * LENGTH))), (rows, 1, LENGTH))
write_npy(os.path.join(folder, "labels.npy"), array.array("q", (numbers.randrange(CLASSES) for _ in range(rows))), (rows,))
with open(os.path.join(folder, "normed.textproto"), "w") as file:
    file.write(f"""precision: BF16
model: "normed.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ adam {{}} }}
data {{
  source {{ npy {{ field {{ name: "x"  path: "x.npy" }} field {{ name: "labels"  path: "labels.npy" }} }} }}
  stage {{ batch {{ size: {BATCH}  drop_remainder: true }} }}
}}
""")
