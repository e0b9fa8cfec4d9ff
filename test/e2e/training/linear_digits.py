"""A linear classifier of the digits whose weight is f32, f16 or bf16, for the cases of 16-bit parameters."""
import random
import struct

from case import path
from onnx_writer import BFLOAT16, FLOAT, Model


def save(kind):
    """Writes model.onnx, from "x" to "logits"."""
    numbers = random.Random(3)
    model = Model("linear", opset=18)
    x = model.input("x", FLOAT, ["N", 8, 8])
    flat = model.node("Flatten", [x], ["flat"], "flatten", axis=1)
    # Multiples of 1/64, which all types have.
    values = [numbers.randint(-8, 8) / 64 for _ in range(640)]
    data = b"".join(struct.pack("<f", value)[2:] for value in values) if kind == BFLOAT16 else None
    weight = model.initializer("weight", kind, [64, 10], None if data else values, data=data)
    narrow = model.node("Cast", [flat], ["narrow"], "narrow", to=kind)
    model.output(model.node("MatMul", [narrow, weight], ["logits"], "classify"), kind, ["N", 10])
    model.save(path("model.onnx"))
