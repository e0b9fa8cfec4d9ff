"""Dims and numbers that follow the size of the batch, in models compiled for 8 rows. Code that fits 8 rows alone takes whole batches, with a
note; where a run computes what follows its rows, its values are those of a model compiled for as many.

    row_sizes.py
"""
import array
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, path
from bar import gradc, program, read_npy, write_npy
from onnx_writer import FLOAT, INT64, Model

BATCH = 8
numbers = random.Random(3)
x = array.array("f", (numbers.gauss(0, 1) for _ in range(BATCH * BATCH)))
checks = 0


def model_of(name, width, build):
    """y = build(model, x, n), where x is [N, width], and n is the number of rows as a list."""
    model = Model(name)
    given = model.input("x", FLOAT, ["N", width])
    for value, elements in ("zero", [0]), ("one", [1]), ("ones", [1, 1]), ("four", [4]):
        model.initializer(value, INT64, [len(elements)], elements)
    for value, number in ("first", 0), ("step", 1):
        model.initializer(value, INT64, [], [number])
    model.output(build(model, given, model.node("Shape", [given], ["n"], "shape", end=1)), FLOAT, None)
    model.save(path(name + ".onnx"))


def ran(name, file, rows, width):
    """The values of a run, or the message of one that is refused."""
    write_npy(path("x.npy"), x[:rows * width], [rows, width])
    result = subprocess.run([program("gradc"), "run", path(file), "--input", "x=" + path("x.npy"), "--output-dir", path("out")],
                            capture_output=True, text=True)
    if result.returncode:
        return result.stderr
    with open(path("out/y.npy"), "rb") as found:
        return list(read_npy(found.read())[1])


def check(name, build, width=4, reason=None, values=None):
    """`reason`: of the note, where the model takes whole batches alone. `values`: those for a number of rows."""
    global checks
    model_of(name, width, build)
    for rows in BATCH, 3, 1:
        said = subprocess.run([program("gradc"), "compile", path(name + ".onnx"), "--shape", f"x={rows}x{width}", "-o", path(f"{name}-{rows}"),
                               "--one-bucket"], capture_output=True, text=True)
        expect(f"{name} compiles for {rows} rows: {said.stderr}", said.returncode == 0)
    said = subprocess.run([program("gradc"), "plan", path(name + ".onnx"), "--shape", f"x={BATCH}x{width}"], capture_output=True, text=True).stderr
    expect(f"{name} says why: {said}", (f'entry "forward" takes no other number of rows than {BATCH}: {reason}' in said) if reason
           else "takes no other number" not in said)
    for rows in BATCH, 3, 1:
        found, wanted = ran(name, f"{name}-{BATCH}", rows, width), ran(name, f"{name}-{rows}", rows, width)
        if reason and rows < BATCH:
            expect(f"{name} refuses {rows} rows: {found}", f'input "x": expected f32 [{BATCH}, {width}], found f32 [{rows}, {width}]' in found)
        else:
            for these in (wanted, values(rows) if values else wanted):
                expect(f"{name}: {rows} rows: {found}, expected {these}", len(found) == len(these) and
                       all(abs(a - b) <= 1e-4 * max(1, abs(b)) for a, b in zip(found, these)))
        checks += 1


def follows(node):
    return f'node "{node}" is compiled for a number that follows the rows'


def repeated(times):
    return f"it sums what is repeated {times} times, which may be for each row of the batch"


REPEATED = repeated(BATCH)


def count_to(m, n):
    """0, 1, ... as floats, as many as rows."""
    numbers = m.node("Range", ["first", m.node("Squeeze", [n], ["number"], "number"), "step"], ["range"], "range")
    return m.node("Cast", [numbers], ["count"], "cast", to=FLOAT)


def reduced(op):
    return lambda m, x, n: m.node("Mul", [x, m.node(op, [count_to(m, n)], ["r"], "reduce", keepdims=0)], ["y"], "scale")


def repeats(m, x, n, axis):
    """x [N, 4] repeated for each row: [N, N, 4], or [N, 4, N]."""
    wide = m.node("Unsqueeze", [x, m.initializer("axis", INT64, [1], [axis])], ["u"], "unsqueeze")
    sizes = [n, "ones"] if axis == 0 else ["ones", n]
    return m.node("Expand", [wide, m.node("Concat", sizes, ["wanted"], "wanted", axis=0)], ["wide"], "expand")


def summed(m, value, axis):
    return m.node("ReduceSum", [value, m.initializer("summed", INT64, [1], [axis])], ["y"], "sum", keepdims=0)


# 1. Numbers of rows, reduced when compiling.
for op in "ReduceSum", "ReduceMean", "ReduceMax":
    check(op.lower(), reduced(op), reason=follows("reduce"))

# 2. Dims that are cut to the rows, which are all columns of the largest batch; and rows that are cut to the rows.
for name, begin, end in ("columns", "zero", "n"), ("last_columns", "less", "wide"):
    def cut(m, x, n):
        m.node("Neg", [n], ["less"], "less")
        m.initializer("wide", INT64, [1], [99])
        return summed(m, m.node("Slice", [x, begin, end, "one"], ["cut"], "cut"), 1)
    check(name, cut, width=BATCH, reason=follows("cut"))
check("rows", lambda m, x, n: m.node("Abs", [m.node("Slice", [x, "zero", n, "zero"], ["cut"], "cut")], ["y"], "abs"), width=BATCH)
check("table", lambda m, x, n: m.node("Add", [x, m.node("ReduceSum", [
    m.node("Slice", [m.weight(numbers, "w", BATCH, 4), "zero", n, "zero"], ["some"], "cut"), "zero"], ["s"], "sum", keepdims=0)], ["y"], "add"),
    reason=follows("cut"))

# 3. Rows that are repeated for each row: sums over the repeats have as many terms as rows, and pairs of rows are those of the run.
check("repeats", lambda m, x, n: summed(m, repeats(m, x, n, 0), 0), reason=REPEATED)
check("wide", lambda m, x, n: summed(m, repeats(m, x, n, 2), 2), reason=REPEATED)
check("tiles", lambda m, x, n: summed(m, m.node("Tile", [x, m.node("Concat", [n, "one"], ["times"], "times", axis=0)], ["t"], "tile"), 0),
      reason="it merges rows of the batch with what is repeated for each of them")
check("wide_tiles", lambda m, x, n: summed(m, m.node("Tile", [x, m.node("Concat", ["one", n], ["times"], "times", axis=0)], ["t"], "tile"), 1),
      reason=repeated(4 * BATCH))


def distances(m, x, n):
    beside = m.node("Unsqueeze", [x, "one"], ["beside"], "beside")
    return summed(m, m.node("ReduceSum", [m.node("Abs", [m.node("Sub", [repeats(m, x, n, 0), beside], ["d"], "sub")], ["a"], "abs"),
                                          m.initializer("last", INT64, [1], [2])], ["l1"], "norm", keepdims=0), 1)


check("distances", distances)
check("each", lambda m, x, n: m.node("Add", [x, m.node("Expand", [m.weight(numbers, "w", 1, 4), m.node(
    "Concat", [n, "four"], ["wanted"], "wanted", axis=0)], ["w_each"], "expand")], ["y"], "add"))


# 4. The mean of a number for each pair of rows.
def mean_of_products(rows):
    return [sum(sum(x[4 * i + column] for i in range(rows)) ** 2 for column in range(4)) / rows ** 2]


check("products", lambda m, x, n: m.node("ReduceMean", [m.node("MatMul", [x, m.node("Transpose", [x], ["t"], "turn", perm=[1, 0])], ["p"],
                                                               "products")], ["y"], "mean", keepdims=0), values=mean_of_products)
print(f"all: {checks} checks")
