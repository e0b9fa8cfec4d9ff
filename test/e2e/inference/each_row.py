"""A model whose rows run one by one, since the values of a batch do not fit into the cache: the same bits for any number of rows and threads,
and the first row with a wrong index is the one that is named.

    each_row.py
"""
import array
import ctypes
import json
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import Session, expect, path
from bar import gradc, read_npy, write_npy
from onnx_writer import FLOAT, INT64, Model

ROWS, SIZE, FILTERS, CLASSES, WORDS = 64, 31, 48, 10, 50  # a row of 31 x 31 x 3 numbers ends within a cache line
numbers = random.Random(7)


def network(name, couples=None):
    """A convolution, pooled, plus a row of a table. `couples`: the outputs also depend on the number of rows, on all rows, or on a row's own
    number, with which the indices of a maximum begin."""
    model = Model(name)
    x, word = model.input("x", FLOAT, ["N", 3, SIZE, SIZE]), model.input("word", INT64, ["N"])
    h = model.node("Conv", [x, model.weight(numbers, "filter", FILTERS, 3, 3, 3)], ["c"], "conv", pads=[1, 1, 1, 1])
    h = model.node("GlobalAveragePool", [model.node("Relu", [h], ["r"], "relu")], ["p"], "pool")
    h = model.node("Gemm", [model.node("Flatten", [h], ["f"], "flat"), model.weight(numbers, "fc", FILTERS, CLASSES)], ["g"], "fc")
    looked = model.node("Gather", [model.weight(numbers, "table", WORDS, CLASSES), word], ["looked"], "embed")
    h = model.node("Add", [h, looked], ["y"], "add")
    if couples == "count":
        first = model.initializer("first", INT64, [1], [0])
        rows = model.node("Gather", [model.node("Shape", [x], ["shape"], "shape"), first], ["rows"], "rows")
        h = model.node("Div", [h, model.node("Cast", [rows], ["number"], "float", to=FLOAT)], ["share"], "divide")
    elif couples == "mean":
        h = model.node("Sub", [h, model.node("ReduceMean", [h], ["m"], "mean", axes=[0], keepdims=1)], ["centred"], "centre")
    elif couples == "number":
        model.node("MaxPool", ["r"], ["pooled", "places"], "places", kernel_shape=[3, 3], strides=[2, 2])
        model.output("places", INT64, ["N", FILTERS, SIZE // 2, SIZE // 2])
    model.output(h, FLOAT, ["N", CLASSES])
    model.save(path(name + ".onnx"))
    return ["--shape", f"x={ROWS}x3x{SIZE}x{SIZE}", "--shape", f"word={ROWS}"]


def entries(name, shape, *options):
    plan = json.loads(gradc("plan", "--json", path(name + ".onnx"), *shape, *options))
    return {entry["entry"]: entry.get("each_row") for entry in plan["levels"][0]["entries"] if ":" not in entry["entry"]}


def build(name, shape, file, *options):
    gradc("compile", path(name + ".onnx"), *shape, "--emit=so", "-o", path(file), *options)
    return path(file)


class Rows(Session):
    def run(self, rows, begin=0, words=None, wanted=True, fails=False):
        """The outputs of some rows, row by row; or the message of the run, which fails."""
        given = x[begin * WIDTH:(begin + rows) * WIDTH]
        words = words or word[begin:begin + rows]
        y = array.array("f", [0.0] * rows * CLASSES)
        inputs = (ctypes.c_void_p * 2)(given.buffer_info()[0], words.buffer_info()[0])
        outputs = (ctypes.c_void_p * 1)(y.buffer_info()[0] if wanted else None)
        message = self.call("run_rows", self.session, self.entry("forward"), ctypes.c_int64(rows), inputs, 2, outputs, 1, fails=fails)
        return message if fails else [y[row * CLASSES:(row + 1) * CLASSES] for row in range(rows)]


    def launches(self, entry):
        class Info(ctypes.Structure):
            _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("batch", ctypes.c_int64), ("inputs", ctypes.c_uint32),
                        ("outputs", ctypes.c_uint32), ("launches", ctypes.c_uint32)]
        info = Info(ctypes.sizeof(Info))
        self.call("entry_describe", self.session, self.entry(entry), ctypes.byref(info))
        return info.launches


WIDTH = 3 * SIZE * SIZE
x = array.array("f", (numbers.gauss(0, 1) for _ in range(ROWS * WIDTH)))
word = array.array("q", (numbers.randrange(WORDS) for _ in range(ROWS)))
shape = network("model")
expect("the plan says so", entries("model", shape) == {"forward": "forward.rows.1", "forward.rows.1": None})
expect("not without code for one row", entries("model", shape, "--one-bucket") == {"forward": None})
for couples in "count", "mean", "number":
    found = entries(couples, network(couples, couples))
    expect(f"not where rows depend on others by their {couples}", found["forward"] is None)

separate, whole = build("model", shape, "separate.so"), build("model", shape, "whole.so", "--one-bucket")
expected = Rows(whole).run(ROWS)
alone = [Rows(separate).run(1, row)[0] for row in range(ROWS)]
expect("rows match a batch", all(abs(a - b) < 1e-5 for one, other in zip(alone, expected) for a, b in zip(one, other)))
for threads in 1, 2, 3, 5:
    session = Rows(separate, threads)
    for rows in 0, 2, 3, 4, 7, ROWS - 1, ROWS:
        expect(f"{rows} rows on {threads} threads have the bits that each has alone", session.run(rows) == alone[:rows])
    expect("an unwanted output is not written", session.run(5, wanted=False) == [array.array("f", [0.0] * CLASSES)] * 5)
    for row, index in (60, -51), (9, 77), (2, 50):
        wrong = array.array("q", word)
        for bad in range(row, ROWS, 20):
            wrong[bad] = index if bad == row else 1000
        message = session.run(ROWS, words=wrong, fails=True)
        expect(f"index {index} of row {row} is named: {message}", str(index) in message and "embed" in message and "1000" not in message)
    expect("the session goes on", session.run(ROWS) == alone)
    expect("too many rows are refused", "found 65" in session.run(ROWS + 1, words=word + word[:1], fails=True))

# The outputs lie over the last row's input, which is read last: they are those of separate memory.
for library, wanted in (whole, expected), (separate, alone):
    for threads in 1, 2:
        session, shared, begin = Rows(library, threads), array.array("f", x), (ROWS - 1) * WIDTH
        memory = shared.buffer_info()[0]
        inputs = (ctypes.c_void_p * 2)(memory, word.buffer_info()[0])
        outputs = (ctypes.c_void_p * 1)(memory + begin * x.itemsize)
        session.call("run_rows", session.session, session.entry("forward"), ctypes.c_int64(ROWS), inputs, 2, outputs, 1)
        found = [shared[begin + row * CLASSES:begin + (row + 1) * CLASSES] for row in range(ROWS)]
        expect(f"outputs may lie over inputs on {threads} threads", found == wanted)

session = Rows(separate, 2)
session.call("session_profile", session.session, 1)
session.run(6)
launches = session.lib.gradc_launches_run(session.session)
times = (ctypes.c_int64 * (launches + 1))()
session.call("launch_times", session.session, times, launches + 1)
each = session.launches("forward.rows.1")
expect("the first thread's rows are profiled", launches in range(each, 6 * each + 1, each) and list(times) == sorted(times))
inputs = (ctypes.c_void_p * 2)(x.buffer_info()[0], word.buffer_info()[0])
expect("launch by launch, it is one row",
       "forward.rows.1" in session.call("begin", session.session, session.entry("forward"), inputs, 2, fails=True))


class NonFinite(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("node", ctypes.c_char_p), ("kernel", ctypes.c_char_p), ("index", ctypes.c_int64),
                ("value", ctypes.c_double)]


found, odd = NonFinite(ctypes.sizeof(NonFinite)), array.array("f", x)
inputs = (ctypes.c_void_p * 2)(odd.buffer_info()[0], word.buffer_info()[0])
search = "find_non_finite", session.session, session.entry("forward"), inputs, 2, ctypes.byref(found)
expect("there is nothing to find", "finite values only" in session.call(*search, fails=True))
odd[5 * WIDTH + 7] = float("inf")
session.call(*search)
expect(f"an infinite input is found: {found.node} {found.index}", (found.node, found.kernel, found.index) == (b"x", b"input", 5 * WIDTH + 7))
for place in range(WIDTH):
    odd[5 * WIDTH + place] = 3e38  # sums of the convolution overflow
session.call(*search)
expect(f"an infinite value is found: {found.node}", b"conv" in found.node)
expect("bench measures it", "forward" in gradc("bench", separate, "--seconds", "0.1"))
write_npy(path("x.npy"), x + x[:6 * WIDTH], [ROWS + 6, 3, SIZE, SIZE])
write_npy(path("word.npy"), word + word[:6], [ROWS + 6])
gradc("run", separate, "--input", f"x={path('x.npy')}", "--input", f"word={path('word.npy')}", "--output-dir", path("out"))
with open(path("out/y.npy"), "rb") as file:
    expect("more rows take several calls", list(read_npy(file.read())[1]) == [number for row in alone + alone[:6] for number in row])
print("each row: bits, errors and plan hold")
