"""Fails unless training has changed every initializer of a model, its running statistics among them.

    running_statistics.py BEFORE.onnx AFTER.onnx
"""
import struct
import sys
import zipfile


def read_varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        tag, at = read_varint(data, at)
        if tag & 7 == 0:
            value, at = read_varint(data, at)
        else:
            size, at = read_varint(data, at) if tag & 7 == 2 else (4, at)
            value, at = data[at : at + size], at + size
        yield tag >> 3, value


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
