"""Fails unless training has changed every initializer of a model, including its running statistics.

    running_statistics.py BEFORE.onnx AFTER.onnx
"""
import os
import struct
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from onnx_writer import fields


def initializers(path):
    with open(path, "rb") as file:
        model = file.read()
    (graph,) = (value for number, value in fields(model) if number == 7)
    found = {}
    for number, value in fields(graph):
        if number == 5:
            tensor = dict(fields(value))
            found[tensor[8].decode()] = struct.unpack(f"<{len(tensor[9]) // 4}f", tensor[9])
    return found


before, after = initializers(sys.argv[1]), initializers(sys.argv[2])
unchanged = [name for name in before if before[name] == after[name]]
if unchanged or set(before) != set(after):
    sys.exit(f"expected all of {', '.join(before)} to change in training, unchanged: {', '.join(unchanged)}")
if any(variance <= 0 for variance in after["norm.running_var"]):
    sys.exit(f"expected variances above 0, found {after['norm.running_var']}")
