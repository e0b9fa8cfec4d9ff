"""Writes a product of 8-bit integers: quantized activations by quantized weights.

    make_codes.py FILE
"""
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from onnx_writer import FLOAT, INT8, UINT8, Model

ROWS, INNER, COLUMNS = 64, 128, 96
numbers = random.Random(5)
model = Model("codes", opset=19)
scale, zero = model.initializer("scale", FLOAT, [], [0.05]), model.initializer("zero", UINT8, [], [128])
codes = model.node("QuantizeLinear", [model.input("x", FLOAT, [ROWS, INNER]), scale, zero], ["codes"], "quantize")
x = model.node("DequantizeLinear", [codes, scale, zero], ["floats"], "dequantize")
w = model.initializer("w", INT8, [INNER, COLUMNS], [numbers.randint(-128, 127) for _ in range(INNER * COLUMNS)])
w = model.node("DequantizeLinear", [w, scale], ["weights"], "dequantize_weights")
model.output(model.node("MatMul", [x, w], ["y"], "product"), FLOAT, [ROWS, COLUMNS])
model.save(sys.argv[1])
