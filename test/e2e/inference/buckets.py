"""Models compiled for many rows, run on few. By default, a single row has its own code, the same as in a model compiled for one row; with
--one-bucket, a row has the same bits as among others.

    buckets.py
"""
import array
import ctypes
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import Session, expect, path
from bar import gradc
from onnx_writer import FLOAT, INT64, Model

ROWS, SIZE, CLASSES = 16, 12, 10
numbers = random.Random(5)


def network(batch):
    """A convolution, and a softmax whose mean the model divides by the number of rows, which it asks a shape for: a number of the run."""
    model = Model("network")
    x = model.input("x", FLOAT, [batch, 3, SIZE, SIZE])
    h = model.node("Conv", [x, model.weight(numbers, "filter", 40, 3, 3, 3), model.weight(numbers, "bias", 40)], ["c"], "conv", pads=[1, 1, 1, 1])
    h = model.node("GlobalAveragePool", [model.node("Relu", [h], ["r"], "relu")], ["p"], "pool")
    h = model.node("Gemm", [model.node("Flatten", [h], ["f"], "flat"), model.weight(numbers, "fc", 40, CLASSES)], ["logits"], "fc")
    model.output("logits", FLOAT, [batch, CLASSES])
    first = model.initializer("first", INT64, [1], [0])
    rows = model.node("Gather", [model.node("Shape", [x], ["shape"], "shape"), first], ["rows"], "rows")
    share = model.node("Div", [h, model.node("Cast", [rows], ["count"], "float", to=FLOAT)], ["share"], "divide")
    model.output(share, FLOAT, [batch, CLASSES])
    return model


def with_baked_batch():
    """In the form of a traced model: the file contains the batch as the shape of a constant."""
    model = Model("baked")
    shape = model.initializer("shape", INT64, [2], [ROWS, 5])
    zeros = model.node("ConstantOfShape", [shape], ["zeros"], "zeros")
    model.output(model.node("Add", [model.input("x", FLOAT, ["N", 5]), zeros], ["y"], "add"), FLOAT, ["N", 5])
    return model


def with_two_uses():
    """The symbol stands for the rows of one input and the columns of another."""
    model = Model("two")
    product = model.node("MatMul", [model.input("x", FLOAT, ["N", 5]), model.input("y", FLOAT, [5, "N"])], ["p"], "product")
    model.output(product, FLOAT, ["N", "N"])
    return model


def build(name, batch, *options):
    gradc("compile", path(name + ".onnx"), "--shape", f"x={batch}x3x{SIZE}x{SIZE}", "--emit=so", "-o", path("built.so"), *options)
    os.replace(path("built.so"), path(f"{name}-{batch}{''.join(options)}.so"))
    return path(f"{name}-{batch}{''.join(options)}.so")


x = array.array("f", (numbers.gauss(0, 1) for _ in range(ROWS * 3 * SIZE * SIZE)))
width = 3 * SIZE * SIZE
network("N").save(path("open.onnx"))
numbers = random.Random(5)
network(ROWS).save(path("fixed.onnx"))


class Buckets(Session):
    def run(self, rows, entry="forward", begin=0):
        """Logits and shares of several rows, as bytes."""
        number = self.entry(entry)
        given = x[begin * width:(begin + rows) * width]
        outputs = [array.array("f", [0.0] * rows * CLASSES) for _ in range(2)]
        inputs = (ctypes.c_void_p * 2)(given.buffer_info()[0], None)
        info = self.describe(number)
        results = (ctypes.c_void_p * 2)(*[one.buffer_info()[0] for one in outputs])
        some = ["run_rows", self.session, number, ctypes.c_int64(rows)] if info.batch else ["run", self.session, number]
        self.call(*some, inputs, info.inputs, results, 2)
        return [one.tobytes() for one in outputs]

    def describe(self, entry):
        class Info(ctypes.Structure):
            _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("batch", ctypes.c_int64), ("inputs", ctypes.c_uint32),
                        ("outputs", ctypes.c_uint32), ("nodes", ctypes.c_uint32), ("arena", ctypes.c_uint64),
                        ("any_rows", ctypes.c_uint32), ("least_rows", ctypes.c_int64), ("coupling", ctypes.c_char_p)]
        info = Info(ctypes.sizeof(Info))
        self.call("entry_describe", self.session, entry, ctypes.byref(info))
        return info


def names(*options):
    plan = json.loads(gradc("plan", "--json", *options))
    return sorted({entry["entry"] for level in plan["levels"] for entry in level["entries"] if ":" not in entry["entry"]})


shape = ["--shape", f"x={ROWS}x3x{SIZE}x{SIZE}"]
several, one, single = Buckets(build("open", ROWS)), Buckets(build("open", ROWS, "--one-bucket")), Buckets(build("open", 1))
for row in (0, 3):
    found, alone = several.run(1, begin=row), single.run(1, begin=row)
    expect(f"row {row} alone is computed as by a model of one row", found == alone == several.run(1, "forward.rows.1", row))
    logits = one.run(ROWS)[0][row * CLASSES * 4:(row + 1) * CLASSES * 4]
    expect(f"row {row} has the same bits alone with one bucket", one.run(1, begin=row)[0] == logits)
shares = array.array("f", several.run(5)[1])
expect("five rows are divided by five", all(abs(5 * s - l) < 1e-5 for s, l in zip(shares, array.array("f", several.run(5)[0]))))
expect("more rows run as without the bucket", several.run(5) == one.run(5) and several.run(ROWS) == one.run(ROWS))
expect("the plan names them", names(path("open.onnx"), *shape) == ["forward", "forward.rows.1"])
expect("or one", names(path("open.onnx"), *shape, "--one-bucket") == ["forward"])
expect("or those asked for, below the batch",
       names(path("open.onnx"), *shape, "--buckets", "8,2,8,64") == ["forward", "forward.rows.2", "forward.rows.8"])
with_baked_batch().save(path("baked.onnx"))
expect("nor where a constant has the batch's size", names(path("baked.onnx"), "--shape", f"x={ROWS}x5") == ["forward"])
with_two_uses().save(path("two.onnx"))
expect("nor where the symbol is no batch elsewhere", names(path("two.onnx"), "--shape", f"x={ROWS}x5", "--shape", f"y=5x{ROWS}") == ["forward"])
expect("a batch that the file fixes has none", names(path("fixed.onnx")) == ["forward"])
expect("nor has one of one row", names(path("open.onnx"), "--shape", f"x=1x3x{SIZE}x{SIZE}") == ["forward"])
