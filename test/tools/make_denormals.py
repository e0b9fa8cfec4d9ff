"""Makes a model whose results are below the smallest normal f32.

    make_denormals.py FILE
"""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from onnx_writer import FLOAT, Model

model = Model("tiny", opset=17)
small = model.node("Mul", [model.input("x", FLOAT, [3, 5]), model.initializer("scale", FLOAT, [], [1e-20])], ["small"], "scale")
model.output(model.node("Mul", [small, small], ["smaller"], "square"), FLOAT, [3, 5])
model.save(sys.argv[1])
