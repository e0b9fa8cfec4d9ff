"""Writes ONNX models with only Python's standard library.

    model = Model("mlp", opset=17)
    x = model.input("x", FLOAT, ["N", 64])
    w = model.initializer("w", FLOAT, [64, 10], values)
    model.output(model.node("MatMul", [x, w], ["y"], name="fc"), FLOAT, ["N", 10])
    model.save("mlp.onnx")

The numbers in `message` calls are the field numbers of compiler/import/onnx/model/onnx.proto.
"""
import math
import struct

FLOAT, UINT8, INT8, UINT16, INT16, INT32, INT64, STRING, BOOL, FLOAT16, DOUBLE, UINT32, UINT64 = range(1, 14)
BFLOAT16, FLOAT8E4M3FN, INT4 = 16, 17, 22
PACK = {FLOAT: "f", UINT8: "B", INT8: "b", UINT16: "H", INT16: "h", INT32: "i", INT64: "q", BOOL: "?", FLOAT16: "e",
        DOUBLE: "d", UINT32: "I", UINT64: "Q"}


def varint(value):
    value &= (1 << 64) - 1  # negative numbers take ten bytes
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    return bytes(out + bytes([value]))


def fields(data):
    """The (number, value) pairs of a message's bytes; a value is an int, or the bytes of a field with a length or a fixed size."""
    at = 0

    def number():
        nonlocal at
        value = shift = 0
        while True:
            byte = data[at]
            value, shift, at = value | (byte & 127) << shift, shift + 7, at + 1
            if byte < 128:
                return value

    while at < len(data):
        tag = number()
        if tag & 7 == 0:
            yield tag >> 3, number()
            continue
        size = {1: 8, 5: 4}.get(tag & 7) or number()
        yield tag >> 3, data[at:at + size]
        at += size


def metadata(model):
    """A model's metadata_props."""
    entries = [dict(fields(entry)) for number, entry in fields(model) if number == 14]
    return {entry[1].decode(): entry[2].decode() for entry in entries}


def field(number, value):
    """One field: an int as a varint, a float as 32 bits, and text, bytes, or a message with its length."""
    if isinstance(value, (bool, int)):
        return varint(number << 3) + varint(int(value))
    if isinstance(value, float):
        return varint(number << 3 | 5) + struct.pack("<f", value)
    data = value.encode() if isinstance(value, str) else value
    return varint(number << 3 | 2) + varint(len(data)) + data


def message(*fields):
    """A message from (number, value) pairs; None omits a field, a list repeats it."""
    out = b""
    for number, value in fields:
        for one in value if isinstance(value, list) else [] if value is None else [value]:
            out += field(number, one)
    return out


def raw(dtype, values):
    return struct.pack(f"<{len(values)}{PACK[dtype]}", *values)


def tensor(name, dtype, dims, values=None, data=None, external=None):
    """A tensor of `values` (numbers) or `data` (bytes); `external` is (file, offset, length) in another file."""
    entries = None
    if external:
        entries = [message((1, key), (2, str(value))) for key, value in zip(("location", "offset", "length"), external)
                   if value is not None]
    elif data is None and values is not None:
        data = raw(dtype, values)
    return message((1, list(dims)), (2, dtype), (8, name), (9, data), (13, entries), (14, 1 if external else None))


def attribute(name, value):
    if isinstance(value, bytes):  # a serialized tensor
        return message((1, name), (5, value), (20, 4))
    if isinstance(value, str):
        return message((1, name), (4, value), (20, 3))
    if isinstance(value, float):
        return message((1, name), (2, value), (20, 1))
    if isinstance(value, int):
        return message((1, name), (3, value), (20, 2))
    if value and isinstance(value[0], float):
        return message((1, name), (7, list(value)), (20, 6))
    if value and isinstance(value[0], str):
        return message((1, name), (9, list(value)), (20, 8))
    return message((1, name), (8, list(value)), (20, 7))


def node(op, inputs, outputs, name="", domain=None, **attributes):
    return message((1, list(inputs)), (2, list(outputs)), (3, name), (4, op),
                   (5, [attribute(key, value) for key, value in attributes.items()]), (7, domain))


def value_info(name, dtype, dims, **metadata):
    """A typed name. A dim is a size, a symbol, or None; `dims` None omits the shape."""
    shape = None
    if dims is not None:
        shape = message((1, [message((2, d)) if isinstance(d, str) else message((1, d)) for d in dims]))
    entries = [message((1, key), (2, value)) for key, value in metadata.items()]
    return message((1, name), (2, message((1, message((1, dtype), (2, shape))))), (4, entries))


class Model:
    def __init__(self, name="graph", opset=17, ir_version=8, producer="gradc-test"):
        self.name, self.opset, self.ir_version, self.producer = name, opset, ir_version, producer
        self.nodes, self.initializers, self.inputs, self.outputs, self.values, self.metadata = [], [], [], [], [], []

    def input(self, name, dtype, dims):
        self.inputs.append(value_info(name, dtype, dims))
        return name

    def output(self, name, dtype, dims):
        self.outputs.append(value_info(name, dtype, dims))

    def initializer(self, name, dtype, dims, values=None, **how):
        self.initializers.append(tensor(name, dtype, dims, values, **how))
        return name

    def of_module(self, kind, name, dtype, dims, values):
        """Adds an initializer, and its kind as PyTorch's newer exporter records it: PARAMETER or BUFFER."""
        self.values.append(value_info(name, dtype, dims, **{"pkg.torch.export.graph_signature.InputSpec.kind": kind}))
        return self.initializer(name, dtype, dims, values)

    def update_buffers(self, buffers):
        """Records which values the module stores in its buffers, {value: buffer}, as PyTorch's newer exporter does."""
        lines = "".join(f"{value}: BUFFER_MUTATION target='{buffer}'\n" for value, buffer in buffers.items())
        self.metadata.append(message((1, "pkg.torch.export.ExportedProgram.graph_signature"), (2, "\n# outputs\n" + lines)))

    def weight(self, numbers, name, *dims):
        """Adds an initializer of random numbers, drawn from a random.Random, with a deviation of 0.2."""
        return self.initializer(name, FLOAT, dims, [numbers.gauss(0, 0.2) for _ in range(math.prod(dims))])

    def node(self, op, inputs, outputs, name="", **attributes):
        """Adds a node and returns its first output."""
        self.nodes.append(node(op, inputs, outputs, name, **attributes))
        return outputs[0]

    def record(self, call):
        """Adds to the last node the call that it comes from, as PyTorch's newer exporter records it."""
        self.nodes[-1] += field(9, message((1, "pkg.torch.onnx.fx_node"), (2, call)))

    def detach(self, value, name):
        """A node that passes no gradient on, as PyTorch's newer exporter writes it."""
        self.node("Identity", [value], [name], name)
        self.record("%detach : call_function[target=torch.ops.aten.detach.default](args = (%x,), kwargs = {})")
        return name

    def bytes(self):
        graph = message((1, self.nodes), (2, self.name), (5, self.initializers), (11, self.inputs), (12, self.outputs),
                        (13, self.values), (16, self.metadata))
        return message((1, self.ir_version), (2, self.producer), (7, graph), (8, message((1, ""), (2, self.opset))))

    def save(self, path):
        with open(path, "wb") as file:
            file.write(self.bytes())
