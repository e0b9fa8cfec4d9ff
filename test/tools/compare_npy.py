"""Succeeds if two float32 .npy files contain arrays of the same shape whose elements differ by less than 1e-5 and are not all zero.

    compare_npy.py FILE FILE
"""
import ast
import struct
import sys


def read(path):
    with open(path, "rb") as file:
        data = file.read()
    assert data[:8] == b"\x93NUMPY\x01\x00", path
    end = 10 + struct.unpack("<H", data[8:10])[0]
    assert end % 64 == 0, f"{path}: data at {end}"
    header = ast.literal_eval(data[10:end].decode())
    assert header["descr"] == "<f4" and not header["fortran_order"], header
    values = struct.unpack(f"<{(len(data) - end) // 4}f", data[end:])
    return header["shape"], values


(shape, values), (other_shape, others) = map(read, sys.argv[1:])
assert shape == other_shape, f"{shape} and {other_shape}"
error = max(abs(a - b) for a, b in zip(values, others, strict=True))
if not error < 1e-5 or not any(values):
    sys.exit(f"{sys.argv[1]} and {sys.argv[2]} differ by {error}")
print(shape)
