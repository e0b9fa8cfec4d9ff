"""Makes a small training job, mlp.onnx and mlp.textproto, and valid and invalid arrays to run the model on.

    make_job.py FOLDER
"""
import array
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../bars"))
from bar import write_mlp_job, write_npy
from onnx_writer import BFLOAT16, FLOAT, INT64, STRING, Model, message, tensor

folder = sys.argv[1]
shutil.rmtree(folder, ignore_errors=True)
os.makedirs(folder)
# A width that is not a multiple of a vector, and one that fills a panel.
write_mlp_job(folder, (6, 37, 3), 4, 6)
# The same in two parts per step.
with open(os.path.join(folder, "mlp.textproto")) as file:
    spec = file.read()
with open(os.path.join(folder, "parts.textproto"), "w") as file:
    file.write(spec + "micro_batches: 2\n")
numbers = random.Random(5)


def write(name, values, shape):
    write_npy(os.path.join(folder, name), values, shape)


write("batch.npy", array.array("f", (numbers.gauss(0, 1) for _ in range(24))), (4, 6))
write("narrow.npy", array.array("f", [0.5] * 20), (4, 5))
write("empty.npy", array.array("f"), (0, 6))
write("flat.npy", array.array("f"), (4, 0))
def save(name, data):
    with open(os.path.join(folder, name), "wb") as file:
        file.write(data)


values = array.array("f")
with open(os.path.join(folder, "batch.npy"), "rb") as file:
    values.frombytes(file.read()[-24 * 4:])
save("batch.pb", tensor("x", FLOAT, [4, 6], values))
save("batch-typed.pb", message((1, [4, 6]), (2, FLOAT), (4, values.tobytes())))
save("short.pb", tensor("x", FLOAT, [4, 6], values[:20]))
save("words.pb", tensor("x", STRING, [1], data=b""))
save("garbage.pb", b"\xff\xff\xff")
write("integers.npy", array.array("q", [1] * 24), (4, 6))

# A shape that is an input.
model = Model("reshape")
value = model.node("Reshape", [model.input("x", FLOAT, [4, 6]), model.input("shape", INT64, [2])], ["y"], "reshape")
model.output(value, FLOAT, [8, 3])
model.save(os.path.join(folder, "reshape.onnx"))
write("shape.npy", array.array("q", [8, 3]), (2,))

# A model with a random op.
model = Model("noise")
drawn = model.node("RandomNormalLike", [model.input("x", FLOAT, ["N", 6])], ["drawn"], "draw")
model.output(model.node("Add", ["x", drawn], ["y"], "add"), FLOAT, ["N", 6])
model.save(os.path.join(folder, "noise.onnx"))

# An input that nothing reads, as an exporter keeps that of a cross attention whose keys are in a cache.
model = Model("aside")
model.input("aside", FLOAT, [4, 5])
model.output(model.node("Neg", [model.input("x", FLOAT, [4, 6])], ["y"], "negated"), FLOAT, [4, 6])
model.save(os.path.join(folder, "aside.onnx"))

# Up to IR version 3, initializers are inputs, too.
model = Model("old", opset=8, ir_version=3)
weight = model.initializer("fc.weight", FLOAT, [6, 3], [0.5] * 18)
model.input(weight, FLOAT, [6, 3])
model.output(model.node("MatMul", [model.input("x", FLOAT, [4, 6]), weight], ["y"], "fc"), FLOAT, [4, 3])
model.save(os.path.join(folder, "old.onnx"))

# Contractions of bf16, off the tile: 1.0 is 0x3f80.
model = Model("bf16")
weight = model.initializer("weight", BFLOAT16, [65, 50], data=b"\x80\x3f" * (65 * 50))
model.output(model.node("MatMul", [model.input("x", BFLOAT16, [33, 65]), weight], ["y"], "fc"), BFLOAT16, [33, 50])
model.save(os.path.join(folder, "bf16.onnx"))
