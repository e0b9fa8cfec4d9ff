"""Succeeds if a safetensors file is well formed and contains all float initializers of an ONNX model, byte for byte.

    check_safetensors.py FILE MODEL NAMES...
"""
import json
import math
import struct
import sys

with open(sys.argv[1], "rb") as file:
    data = file.read()
with open(sys.argv[2], "rb") as file:
    model = file.read()
size = struct.unpack("<Q", data[:8])[0]
header, values = json.loads(data[8:8 + size]), data[8 + size:]
assert size % 8 == 0 and data[8:9] == b"{", size
assert list(header) == sys.argv[3:], list(header)
end = 0
for name, tensor in header.items():
    begin, next_end = tensor["data_offsets"]
    assert begin == end and tensor["dtype"] == "F32" and next_end - begin == 4 * math.prod(tensor["shape"]), (name, tensor)
    assert values[begin:next_end] in model, f"{name} is not in {sys.argv[2]}"
    end = next_end
assert end == len(values), (end, len(values))
