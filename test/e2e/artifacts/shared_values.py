"""An artifact has equal values once: those of the model's initializers, whatever their type, and what several entries fold. Codes of few
bits are there as the model packs them, and not as the bytes that they become.

    shared_values.py
"""
import array
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, path
from bar import gradc, read_npy, write_npy
from onnx_writer import FLOAT, FLOAT8E4M3FN, INT4, INT8, INT32, INT64, UINT8, Model, raw

ROWS, INNER, COLUMNS = 8, 96, 64
STEPS, BLOCK, OUTPUTS = 256, 32, 160  # of products with codes in blocks
LIMITS = {INT8: (-128, 127), UINT8: (0, 255), INT32: (-10**6, 10**6), INT64: (-10**9, 10**9), FLOAT8E4M3FN: (0, 100)}
numbers = random.Random(5)


def codes(kind, count):
    return [numbers.randint(*LIMITS[kind]) for _ in range(count)]


def expect_once(name, made, dims, *options):
    """Compiles the model, and expects the bytes of the values once in the artifact, those of what they become not at all, and the results of
    the evaluated model."""
    model, values, *become = made
    model.save(path(f"{name}.onnx"))
    gradc("compile", path(f"{name}.onnx"), "--shape", f"x={'x'.join(map(str, dims))}", "--emit=so", "-o", path(f"{name}.so"), *options)
    with open(path(f"{name}.so"), "rb") as file:
        artifact = file.read()
    found = artifact.count(values)
    expect(f"{name}: the values are {found} times in the artifact", found == 1)
    expect(f"{name}: what the values become is in the artifact", not any(other in artifact for other in become))
    write_npy(path("x.npy"), array.array("f", (numbers.uniform(0, INNER - 1) for _ in range(math.prod(dims)))), dims)

    def run(*what):
        gradc("run", *what, "--input", f"x={path('x.npy')}", "--output-dir", path("out"))
        with open(path("out/y.npy"), "rb") as file:
            return read_npy(file.read())[1]

    exact, results = run(path(f"{name}.onnx"), "--reference"), run(path(f"{name}.so"))
    size = max(map(abs, exact))
    expect(f"{name}: other results", size > 0 and max(abs(e - r) for e, r in zip(exact, results)) <= 1e-5 * size)


def with_weights(kind):
    """A product with quantized weights."""
    model = Model("weights", opset=19)
    x = model.input("x", FLOAT, ["N", INNER])
    values = raw(INT8 if kind == FLOAT8E4M3FN else kind, codes(kind, INNER * COLUMNS))
    w = model.initializer("w", kind, [INNER, COLUMNS], data=values)
    scale = model.initializer("scale", FLOAT, [COLUMNS], [numbers.uniform(0.001, 0.02) for _ in range(COLUMNS)])
    w = model.node("DequantizeLinear", [w, scale], ["floats"], "dequantize", axis=1)
    model.output(model.node("MatMul", [x, w], ["y"], "product"), FLOAT, ["N", COLUMNS])
    return model, values


def with_table(kind):
    """Rows of a table of integers."""
    model = Model("table", opset=19)
    rows = model.node("Cast", [model.node("Abs", [model.input("x", FLOAT, ["N"])], ["a"], "abs")], ["rows"], "cast", to=INT64)
    values = codes(kind, INNER * COLUMNS)
    table = model.initializer("table", kind, [INNER, COLUMNS], values)
    found = model.node("Gather", [table, rows], ["found"], "gather")
    model.output(model.node("Cast", [found], ["y"], "float", to=FLOAT), FLOAT, ["N", COLUMNS])
    return model, raw(kind, values)


def packed(bits, values):
    """Codes as ONNX packs them, the first of a byte in its lowest bits."""
    return bytes(sum(code << bits * i for i, code in enumerate(values[at:at + 8 // bits])) for at in range(0, len(values), 8 // bits))


def with_blocks(bits, has_zeros=False):
    """Weights of ONNX Runtime with a scale for each block of a row, and with or without a zero point."""
    most, count = (1 << bits) - 1, STEPS // BLOCK
    rows = [[numbers.randint(0, most) for _ in range(STEPS)] for _ in range(OUTPUTS)]
    zeros = [[numbers.randint(0, most) if has_zeros else (most + 1) // 2 for _ in range(count)] for _ in range(OUTPUTS)]
    model = Model("blocks", opset=19)
    values = b"".join(packed(bits, row) for row in rows)
    inputs = [model.input("x", FLOAT, ["N", STEPS]), model.initializer("w", UINT8, [OUTPUTS, count, BLOCK * bits // 8], data=values),
              model.initializer("scales", FLOAT, [OUTPUTS, count], [numbers.uniform(0.001, 0.02) for _ in range(OUTPUTS * count)])]
    if has_zeros:
        inputs.append(model.initializer("zeros", UINT8, [OUTPUTS, count * bits // 8], data=b"".join(packed(bits, row) for row in zeros)))
    model.output(model.node("MatMulNBits", inputs, ["y"], "product", domain="com.microsoft", K=STEPS, N=OUTPUTS, bits=bits, block_size=BLOCK),
                 FLOAT, ["N", OUTPUTS])
    differences = [code - zeros[n][k // BLOCK] for n, row in enumerate(rows) for k, code in enumerate(row)]
    return model, values, raw(INT8, differences)


def with_nibbles():
    """Integers of 4 bits with signs."""
    values = [numbers.randint(-8, 7) for _ in range(INNER * COLUMNS)]
    codes = packed(4, [value & 15 for value in values])
    model = Model("nibbles", opset=21)
    w = model.initializer("w", INT4, [INNER, COLUMNS], data=codes)
    scale = model.initializer("scale", FLOAT, [COLUMNS], [numbers.uniform(0.001, 0.02) for _ in range(COLUMNS)])
    w = model.node("DequantizeLinear", [w, scale], ["floats"], "dequantize", axis=1)
    model.output(model.node("MatMul", [model.input("x", FLOAT, ["N", INNER]), w], ["y"], "product"), FLOAT, ["N", COLUMNS])
    return model, codes, raw(INT8, values)


def with_folded():
    """A constant that each entry folds, and that no initializer holds."""
    model = Model("folded", opset=19)
    rows = model.node("Cast", [model.node("Abs", [model.input("x", FLOAT, ["N"])], ["a"], "abs")], ["rows"], "cast", to=INT64)
    values, more = codes(INT64, INNER * COLUMNS), codes(INT64, INNER * COLUMNS)
    table = model.node("Add", [model.initializer("table", INT64, [INNER, COLUMNS], values),
                               model.initializer("more", INT64, [INNER, COLUMNS], more)], ["both"], "add")
    found = model.node("Gather", [table, rows], ["found"], "gather")
    model.output(model.node("Cast", [found], ["y"], "float", to=FLOAT), FLOAT, ["N", COLUMNS])
    return model, raw(INT64, [a + b for a, b in zip(values, more)])


for kind, name in (INT8, "i8"), (UINT8, "u8"), (INT32, "i32"), (FLOAT8E4M3FN, "e4m3fn"):
    expect_once(f"weights of {name}", with_weights(kind), [ROWS, INNER])
for kind, name in (INT32, "i32"), (INT64, "i64"):
    expect_once(f"a table of {name}", with_table(kind), [ROWS])
expect_once("a folded table", with_folded(), [ROWS], "--buckets", "1,2,8")
for bits in 2, 4, 8:
    expect_once(f"blocks of {bits} bits", with_blocks(bits), [ROWS, STEPS])
    # All buckets read the same codes, and the same scales.
    expect(f"constants beside blocks of {bits} bits", "constants: 2, " in gradc("inspect", path(f"blocks of {bits} bits.so")))
for bits in 2, 4:
    for rows in ROWS, 40:
        expect_once(f"{rows} rows by blocks of {bits} bits with zero points", with_blocks(bits, has_zeros=True), [rows, STEPS])
expect_once("weights of 4 bits", with_nibbles(), [ROWS, INNER])
