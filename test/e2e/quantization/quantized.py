"""Products and convolutions of quantized tensors, compiled and evaluated: codes with and without signs, zero points, scales per channel,
sums that are no multiple of four, and padding; and codes between operators.

    quantized.py
"""
import array
import json
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, path
from bar import gradc, read_npy, write_npy
from onnx_writer import FLOAT, INT8, INT32, INT64, UINT8, Model

LEVELS = [line.split()[0] for line in gradc("doctor").splitlines() if "runs here" in line]
WAYS = [["--one-bucket"], *(["--target", f"cpu:{level}"] for level in LEVELS)]
numbers = random.Random(7)
LIMITS = {INT8: (-128, 127), UINT8: (0, 255)}


class Quantized(Model):
    """Names what it adds in order."""

    def fresh(self):
        return f"v{len(self.nodes) + len(self.initializers)}"

    def add(self, op, *inputs, **attributes):
        name = self.fresh()
        return self.node(op, inputs, [name], name, **attributes)

    def constant(self, kind, dims, values):
        return self.initializer(self.fresh(), kind, dims, values)

    def codes(self, kind, *dims, margin=0):
        """`margin`: the codes at either end of the type that are left out."""
        least, most = LIMITS[kind]
        return self.constant(kind, dims, [numbers.randint(least + margin, most - margin) for _ in range(math.prod(dims))])

    def dequantized(self, codes, kind, zero, channels=0, axis=0):
        """Relative to `zero`; with a scale for each of `channels` along `axis`, or one for all."""
        dims = [channels] if channels else []
        scale = self.constant(FLOAT, dims, [numbers.uniform(0.001, 0.02) for _ in range(max(channels, 1))])
        return self.add("DequantizeLinear", codes, scale, self.constant(kind, dims, [zero] * max(channels, 1)), axis=axis)

    def quantized(self, x, kind, zero, scale=0.05):
        """The codes of x, and what they represent."""
        scale, zero = self.constant(FLOAT, [], [scale]), self.constant(kind, [], [zero])
        codes = self.add("QuantizeLinear", x, scale, zero)
        return codes, self.add("DequantizeLinear", codes, scale, zero)


def run(file, *more):
    """The output y of the input x."""
    gradc("run", path(file), "--input", f"x={path('x.npy')}", "--output-dir", path("out"), *more)
    with open(path("out/y.npy"), "rb") as output:
        return read_npy(output.read())[1]


def check(name, model, dims, exact=False, most=1e-6):
    """Compares the output; `most`: the error, of the largest element."""
    model.save(path(f"{name}.onnx"))
    write_npy(path("x.npy"), array.array("f", (numbers.gauss(0, 3) for _ in range(math.prod(dims)))), dims)
    expected = run(f"{name}.onnx", "--reference")
    size = max(abs(e) for e in expected)
    expect(f"{name} is all zeros", size > 0)
    for way in WAYS:
        found = run(f"{name}.onnx", *way)
        error = max(abs(e - f) for e, f in zip(expected, found)) / size
        expect(f"{name} {way}: off by {error:.1e}", len(found) == len(expected) and error <= (0 if exact else most))


def few_rows(name, most, dims, counts):
    """A model that is compiled for `most` rows runs on fewer as well, with code of its own for one."""
    size = math.prod(dims)
    x = array.array("f", (numbers.gauss(0, 3) for _ in range(most * size)))
    shape = "--shape", "x=" + "x".join(map(str, [most, *dims]))
    plan = json.loads(gradc("plan", "--json", path(f"{name}.onnx"), *shape))
    entries = {entry["entry"] for level in plan["levels"] for entry in level["entries"]}
    expect(f"{name} takes any number of rows: {entries}", "forward.rows.1" in entries)
    gradc("compile", path(f"{name}.onnx"), "-o", path(f"{name}.so"), "--emit=so", *shape)
    for count in (most, *counts):
        write_npy(path("x.npy"), x[:count * size], [count, *dims])
        expected, found = run(f"{name}.onnx", "--reference"), run(f"{name}.so")
        error = max(abs(e - f) for e, f in zip(expected, found)) / max(abs(e) for e in expected)
        expect(f"{name}, {count} rows: off by {error:.1e}", len(found) == len(expected) and error <= 1e-6)


def product(name, rows, steps, columns, lhs, rhs, zeros, transposed=False, channels=False):
    """`lhs` is None: only the weights are quantized."""
    model = Quantized(name, opset=19)
    x = model.input("x", FLOAT, [rows, steps])
    if lhs:
        x = model.quantized(x, lhs, zeros[0])[1]
    dims = [columns, steps] if transposed else [steps, columns]
    w = model.dequantized(model.codes(rhs, *dims), rhs, zeros[1], columns if channels else 0, axis=0 if transposed else 1)
    model.output(model.node("Gemm", [x, w], ["y"], "y", transB=int(transposed)), FLOAT, [rows, columns])
    check(name, model, [rows, steps])


def products():
    product("whole", 16, 64, 64, UINT8, INT8, (0, 0))
    product("odd", 13, 67, 45, UINT8, INT8, (7, 0), channels=True)
    product("transposed", 9, 130, 70, UINT8, INT8, (128, 0), transposed=True, channels=True)
    product("signed", 20, 33, 40, INT8, INT8, (-5, 0), channels=True)
    product("unsigned", 17, 37, 35, UINT8, UINT8, (100, 120))
    product("swapped", 8, 3, 20, INT8, UINT8, (3, 250), transposed=True)
    product("row", 1, 300, 500, UINT8, INT8, (9, 4), channels=True)
    product("few", 40, 96, 5, UINT8, INT8, (9, 0))
    product("long", 4, 3001, 33, UINT8, INT8, (131, 0), channels=True)


def weights():
    product("weights", 16, 70, 50, None, INT8, (None, 0), channels=True)
    product("weights_transposed", 33, 64, 96, None, INT8, (None, 0), transposed=True, channels=True)
    product("weights_centered", 5, 40, 40, None, UINT8, (None, 128))
    product("weights_shifted", 12, 40, 40, None, UINT8, (None, 100), channels=True)
    product("weights_row", 1, 500, 300, None, INT8, (None, 3), channels=True)
    product("weights_few", 64, 80, 3, None, INT8, (None, 0))
    model = Quantized("positions", opset=19)
    w = model.dequantized(model.codes(INT8, 24, 40), INT8, 0, 40, axis=1)
    bias = model.constant(FLOAT, [40], [numbers.gauss(0, 1) for _ in range(40)])
    y = model.add("Add", model.add("MatMul", model.input("x", FLOAT, [3, 7, 24]), w), bias)
    model.output(model.node("Relu", [y], ["y"], "y"), FLOAT, [3, 7, 40])
    check("positions", model, [3, 7, 24])


def positions():
    """Rows of activations with three dims and their positions are one dim of a product, and of its terms for zero points."""
    rows, steps, columns = ["N", 6], 24, 40
    model = Quantized("static", opset=19)
    x = model.quantized(model.input("x", FLOAT, [*rows, steps]), UINT8, 120)[1]
    w = model.dequantized(model.codes(INT8, steps, columns), INT8, 0, columns, axis=1)
    y = model.add("Add", model.add("MatMul", x, w), model.constant(FLOAT, [columns], [numbers.gauss(0, 1) for _ in range(columns)]))
    model.output(model.node("Relu", [y], ["y"], "y"), FLOAT, [*rows, columns])
    model.save(path("static.onnx"))

    model = Quantized("dynamic", opset=19)
    model.node("DynamicQuantizeLinear", [model.input("x", FLOAT, [*rows, steps])], ["codes", "scale", "zero"], "quantize")
    scales = model.constant(FLOAT, [columns], [numbers.uniform(0.001, 0.02) for _ in range(columns)])
    sums = model.add("MatMulInteger", "codes", model.codes(UINT8, steps, columns), "zero", model.codes(UINT8, columns))
    y = model.add("Mul", model.add("Cast", sums, to=FLOAT), model.add("Mul", "scale", scales))
    model.output(model.node("Relu", [y], ["y"], "y"), FLOAT, [*rows, columns])
    model.save(path("dynamic.onnx"))

    model = Quantized("pictures", opset=19)
    x = model.quantized(model.input("x", FLOAT, ["N", 4, 7, 7]), UINT8, 77)[1]
    w = model.dequantized(model.codes(INT8, 16, 4, 3, 3), INT8, 0, 16)
    model.output(model.node("Conv", [x, w], ["y"], "y", pads=[1, 1, 1, 1]), FLOAT, ["N", 16, 7, 7])
    model.save(path("pictures.onnx"))
    for name, dims in ("static", [6, 24]), ("dynamic", [6, 24]), ("pictures", [4, 7, 7]):
        few_rows(name, 5, dims, (3, 1))


def lookup():
    """Rows of a quantized table, of which a product reads the whole as well."""
    model = Quantized("lookup", opset=19)
    table = model.dequantized(model.codes(UINT8, 60, 20), UINT8, 120)
    x = model.input("x", FLOAT, [5, 8])
    tokens = model.add("Cast", model.add("Abs", x), to=INT32)
    rows = model.add("Gather", table, tokens)
    model.output(model.node("MatMul", [rows, model.add("Transpose", table, perm=[1, 0])], ["y"], "y"), FLOAT, [5, 8, 60])
    check("lookup", model, [5, 8])


def batched():
    """Both factors are computed: a batch of products, as in an attention."""
    model = Quantized("batched", opset=19)
    x = model.input("x", FLOAT, [6, 20, 24])
    first, second = model.quantized(x, UINT8, 120)[1], model.quantized(model.add("Neg", x), UINT8, 131, 0.07)[1]
    turned = model.add("Transpose", second, perm=[0, 2, 1])
    model.output(model.node("MatMul", [first, turned], ["y"], "y"), FLOAT, [6, 20, 20])
    check("batched", model, [6, 20, 24])


def convolution(name, kinds, zeros, channels, filters, size, taps, **attributes):
    groups = attributes.get("group", 1)
    model = Quantized(name, opset=19)
    x = model.input("x", FLOAT, [2, channels, size, size])
    if kinds[0]:
        x = model.quantized(x, kinds[0], zeros[0])[1]
    w = model.dequantized(model.codes(kinds[1], filters, channels // groups, taps, taps), kinds[1], zeros[1], filters)
    bias = model.constant(FLOAT, [filters], [numbers.gauss(0, 1) for _ in range(filters)])
    model.output(model.node("Conv", [x, w, bias], ["y"], "y", **attributes), FLOAT, ["N", filters, "H", "W"])
    check(name, model, [2, channels, size, size])


def convolutions():
    both = UINT8, INT8
    convolution("filter3", both, (0, 0), 16, 40, 12, 3, pads=[1, 1, 1, 1])
    convolution("padded", both, (77, 0), 8, 33, 9, 3, pads=[1, 2, 0, 1])
    convolution("strided", (INT8, INT8), (5, 0), 12, 32, 11, 3, pads=[1, 1, 1, 1], strides=[2, 2])
    convolution("pictures", both, (110, 0), 3, 32, 15, 7, pads=[3, 3, 3, 3], strides=[2, 2])
    convolution("pointwise", both, (3, 0), 18, 24, 7, 1)
    convolution("dilated", both, (200, 0), 4, 16, 14, 3, pads=[2, 2, 2, 2], dilations=[2, 2])
    convolution("grouped", both, (50, 0), 16, 32, 8, 3, pads=[1, 1, 1, 1], group=4)
    convolution("depthwise", both, (50, 0), 16, 16, 8, 3, pads=[1, 1, 1, 1], group=16)
    convolution("zeros", both, (50, 9), 16, 16, 8, 3, pads=[1, 1, 1, 1])
    convolution("unsigned_filter", (UINT8, UINT8), (50, 128), 16, 16, 8, 3, pads=[1, 1, 1, 1])
    unsigned = (UINT8, UINT8)
    convolution("filter_zero", unsigned, (0, 117), 16, 40, 9, 3, pads=[1, 2, 0, 1])
    convolution("filter_zero_of_words", unsigned, (30, 140), 3, 33, 11, 5, pads=[2, 2, 2, 2], strides=[2, 2])
    convolution("filter_zero_dilated", (INT8, INT8), (-7, 5), 8, 16, 12, 3, pads=[2, 2, 2, 2], dilations=[2, 2])
    convolution("filter_zero_grouped", unsigned, (50, 101), 16, 32, 8, 3, pads=[1, 1, 1, 1], group=4)
    convolution("filter_zero_pointwise", unsigned, (9, 135), 18, 24, 7, 1, strides=[2, 2])
    convolution("many_filters", both, (9, 0), 8, 1100, 4, 3, pads=[1, 1, 1, 1])  # their zero points are a state
    convolution("filter_only", (None, INT8), (0, 0), 16, 16, 8, 3, pads=[1, 1, 1, 1])
    convolution("unsigned_filter_only", (None, UINT8), (0, 90), 8, 16, 8, 3)


def pool(name, kind, zero, scale, **attributes):
    """A pool of codes; its results have the same scale as the codes, or another."""
    model = Quantized(name, opset=19)
    x = model.quantized(model.input("x", FLOAT, [2, 6, 11, 11]), kind, zero)[1]
    largest = model.add("MaxPool", x, kernel_shape=[3, 3], strides=[2, 2], **attributes)
    y = model.quantized(largest, kind, zero, scale)[1]
    model.output(model.node("Add", [y, largest], ["y"], "y"), FLOAT, [2, 6, "H", "W"])
    check(name, model, [2, 6, 11, 11], exact=True)


def concatenation():
    """Of codes with the scale of the whole, codes with another one, and floats."""
    model = Quantized("concatenation", opset=19)
    x = model.input("x", FLOAT, [2, 5, 4, 4])
    parts = model.quantized(x, UINT8, 120)[1], model.quantized(model.add("Neg", x), UINT8, 7, 0.07)[1], model.add("Relu", x)
    whole = model.add("Concat", *parts, axis=1)
    y = model.quantized(whole, UINT8, 120)[1]
    model.output(model.node("Neg", [y], ["y"], "y"), FLOAT, [2, 15, 4, 4])
    check("concatenation", model, [2, 5, 4, 4], exact=True)


def codes():
    pool("pool", UINT8, 0, 0.05)
    pool("pool_padded", UINT8, 131, 0.05, pads=[1, 1, 1, 1])
    pool("pool_signed", INT8, -7, 0.05, pads=[1, 1, 1, 1])
    pool("pool_scaled", INT8, 5, 0.06)
    concatenation()


def blocks(name, rows, steps, columns, block, bits=4, zeros=None, listed=False):
    """Weights of ONNX Runtime with a scale for each block of a row; `zeros`: of codes, of floats, or none; `listed`: scales of one dim."""
    model = Quantized(name, opset=19)
    count, size = -(-steps // block), block * bits // 8
    x = model.input("x", FLOAT, [rows, steps])
    weight = model.codes(UINT8, columns, count, size)
    dims = [columns * count] if listed else [columns, count]
    scales = model.constant(FLOAT, dims, [numbers.uniform(0.001, 0.02) for _ in range(columns * count)])
    more = []
    if zeros == "codes":
        more = [model.codes(UINT8, columns, -(-count * bits // 8))]
    elif zeros == "floats":
        more = [model.constant(FLOAT, [columns, count], [numbers.uniform(6, 10) for _ in range(columns * count)])]
    model.output(model.node("MatMulNBits", [x, weight, scales, *more], ["y"], "y", domain="com.microsoft", K=steps, N=columns,
                            bits=bits, block_size=block), FLOAT, [rows, columns])
    check(name, model, [rows, steps])


def tied():
    """The bytes of the last product are the embedding's, too, which reads them in rows. They are too many to fold."""
    model, words, width, block = Quantized("tied", opset=19), 2100, 1024, 32
    weight = model.codes(UINT8, words, width // block, block // 2)
    scales = model.constant(FLOAT, [words, width // block], [numbers.uniform(0.001, 0.02) for _ in range(words * width // block)])
    table = model.add("Reshape", weight, model.constant(INT64, [2], [words, width // 2]))
    rows = model.add("GatherBlockQuantized", table, model.constant(INT64, [3], [5, words - 1, 0]), scales, domain="com.microsoft", bits=4,
                     block_size=block, gather_axis=0, quantize_axis=1)
    x = model.add("Add", model.input("x", FLOAT, [3, width]), rows)
    model.output(model.node("MatMulNBits", [x, weight, scales], ["y"], "y", domain="com.microsoft", K=width, N=words, bits=4,
                            block_size=block), FLOAT, [3, words])
    check("tied", model, [3, width])
    verdicts = gradc("check", path("tied.onnx"))
    expect(f"scales do not train: {verdicts}", "a scale of codes of" in verdicts)


def dequantized_blocks(rows, steps, columns, block, kind, zero=None, transposed=False, margin=0):
    """The same as DequantizeLinear and Gemm."""
    model = Quantized("dequantized_blocks", opset=21)
    dims, axis = ([columns, steps], 1) if transposed else ([steps, columns], 0)
    shape = [size // block if d == axis else size for d, size in enumerate(dims)]
    count = math.prod(shape)
    scale = model.constant(FLOAT, shape, [numbers.uniform(0.001, 0.02) for _ in range(count)])
    zeros = [] if zero is None else [model.constant(kind, shape, [zero + i % 3 for i in range(count)])]
    w = model.add("DequantizeLinear", model.codes(kind, *dims, margin=margin), scale, *zeros, axis=axis, block_size=block)
    x = model.input("x", FLOAT, [rows, steps])
    model.output(model.node("Gemm", [x, w], ["y"], "y", transB=int(transposed)), FLOAT, [rows, columns])
    return model


def buckets_of_blocks():
    """One row and many read the same codes, which are stored less their zero points: with a margin, in a byte each. Fewer than the many
    rows, too."""
    dequantized_blocks("N", 256, 120, 32, INT8, 3, transposed=True, margin=8).save(path("buckets.onnx"))
    few_rows("buckets", 20, [256], (13, 1))


def blocks_of_positions():
    """Rows of activations with three dims are one dim of a product and of what follows it in the kernel that adds up the blocks."""
    steps, columns, block = 128, 48, 32
    model = Quantized("blocks_of_positions", opset=21)
    scale = model.constant(FLOAT, [steps // block, columns], [numbers.uniform(0.001, 0.02) for _ in range(steps // block * columns)])
    w = model.add("DequantizeLinear", model.codes(INT8, steps, columns), scale, axis=0, block_size=block)
    y = model.add("MatMul", model.input("x", FLOAT, ["N", 6, steps]), w)
    y = model.add("Add", y, model.constant(FLOAT, [columns], [numbers.gauss(0, 1) for _ in range(columns)]))
    model.output(model.node("Mul", [y, model.add("Sigmoid", y)], ["y"], "y"), FLOAT, ["N", 6, columns])
    model.save(path("blocks_of_positions.onnx"))
    few_rows("blocks_of_positions", 20, [6, steps], (13, 1))


def far_numbers(name, rows, number, block=0, far=False):
    """A row of x has a number that is infinite, or whose products with most codes and zero points are. By definition, only their differences
    multiply it, which are 1 or -1, so that a result is infinite if the number is, and never NaN. `block`: the steps of a zero point; 0: it has
    a whole column. `far`: some differences do not fit in a byte."""
    steps, columns = 256, 120
    height = block or steps
    zeros = [[3 + (b + n) % 6 for n in range(columns)] for b in range(steps // height)]
    codes = [zeros[k // height][n] + numbers.choice((-1, 1)) for k in range(steps) for n in range(columns)]
    if far:
        codes[:columns] = [255] * columns
    model = Quantized(name, opset=21)
    dims = [len(zeros), columns] if block else [columns]
    scale = model.constant(FLOAT, dims, [numbers.uniform(0.1, 0.3) for _ in range(math.prod(dims))])
    zero = model.constant(UINT8, dims, sum(zeros, []))
    w = model.add("DequantizeLinear", model.constant(UINT8, [steps, columns], codes), scale, zero, axis=0 if block else 1, block_size=block)
    model.output(model.node("MatMul", [model.input("x", FLOAT, [rows, steps]), w], ["y"], "y"), FLOAT, [rows, columns])
    model.save(path(f"{name}.onnx"))
    x = array.array("f", (numbers.gauss(0, 3) for _ in range(rows * steps)))
    x[(rows - 1) * steps + 75] = number
    write_npy(path("x.npy"), x, [rows, steps])
    expected = run(f"{name}.onnx", "--reference")
    last = expected[-columns:]
    expect(f"{name} has no NaN", not any(map(math.isnan, last)))
    expect(f"{name} has both signs", min(last) < 0 < max(last) and math.isinf(number) == all(map(math.isinf, last)))
    size = max(abs(e) for e in expected[:-columns]) if rows > 1 else 0
    bound = 64 / 2**24  # 64 terms are added one by one, and the far one makes each of these sums large
    for way in WAYS:
        for e, f in zip(expected, run(f"{name}.onnx", *way)):
            expect(f"{name} {way}: {f}, expected {e}", e == f or abs(e - f) <= bound * max(abs(e), size))


def in_blocks():
    blocks("blocks_row", 1, 256, 200, 32)
    blocks("blocks_few", 3, 128, 96, 16, zeros="codes")
    blocks("blocks_many", 40, 128, 64, 32, zeros="codes")
    blocks("blocks_floats", 1, 256, 64, 64, zeros="floats")
    blocks("blocks_bytes", 2, 512, 70, 128, bits=8)
    blocks("blocks_bytes_zeros", 1, 256, 70, 128, bits=8, zeros="codes")
    blocks("blocks_partial", 1, 100, 33, 32, zeros="codes")
    blocks("blocks_single", 1, 32, 40, 32)
    for name, rows, *form in (("block_scales", 1, 256, 120, 32, INT8), ("block_scales_turned", 2, 256, 120, 32, INT8, None, True),
                              ("block_zeros", 1, 256, 48, 64, UINT8, 120), ("block_rows", 30, 256, 48, 32, INT8, 5, True)):
        check(name, dequantized_blocks(rows, *form), [rows, form[0]])
    buckets_of_blocks()
    blocks_of_positions()
    blocks("blocks_listed", 1, 256, 200, 32, listed=True)
    blocks("blocks_listed_many", 40, 128, 64, 32, listed=True)
    for rows in 1, 12:
        for block in 32, 0:
            for far in False, True:
                far_numbers(f"infinite{rows}", rows, math.inf, block, far)
                far_numbers(f"large{rows}", rows, 3e38, block, far)
    blocks("blocks_long", 9, 4160, 80, 64)  # more of them than one sum adds up


def integers():
    """Without scales: sums of 32 bits, exactly."""
    model = Quantized("dynamic", opset=19)
    x = model.input("x", FLOAT, [19, 50])
    model.node("DynamicQuantizeLinear", [x], ["codes", "scale", "zero"], "quantize")
    w, zero = model.codes(UINT8, 50, 34), model.constant(UINT8, [], [131])
    sums = model.add("MatMulInteger", "codes", w, "zero", zero)
    model.output(model.node("Cast", [sums], ["y"], "y", to=FLOAT), FLOAT, [19, 34])
    check("dynamic", model, [19, 50], exact=True)

    model = Quantized("linear", opset=19)
    x = model.input("x", FLOAT, [5, 41])
    number, codes = model.constant(FLOAT, [], [0.05]), model.constant(INT8, [], [-3])
    first = model.add("QuantizeLinear", x, number, codes)
    scales, zeros = model.constant(FLOAT, [30], [numbers.uniform(0.001, 0.01) for _ in range(30)]), model.constant(INT8, [30], [0] * 30)
    out, middle = model.constant(FLOAT, [], [0.5]), model.constant(INT8, [], [4])
    quantized = model.add("QLinearMatMul", first, number, codes, model.codes(INT8, 41, 30), scales, zeros, out, middle)
    model.output(model.node("Cast", [quantized], ["y"], "y", to=FLOAT), FLOAT, [5, 30])
    check("linear", model, [5, 41], exact=True)

    for zero in 0, 13:
        model = Quantized("convolution", opset=19)
        x = model.input("x", FLOAT, [1, 6, 9, 9])
        number, codes = model.constant(FLOAT, [], [0.05]), model.constant(UINT8, [], [zero])
        first = model.add("QuantizeLinear", x, number, codes)
        weight, zeros = model.codes(INT8, 24, 6, 3, 3), model.constant(INT8, [24], [0] * 24)
        scales = model.constant(FLOAT, [24], [numbers.uniform(0.001, 0.01) for _ in range(24)])
        bias = model.constant(INT32, [24], [numbers.randint(-500, 500) for _ in range(24)])
        out, middle = model.constant(FLOAT, [], [0.25]), model.constant(UINT8, [], [100])
        quantized = model.add("QLinearConv", first, number, codes, weight, scales, zeros, out, middle, bias, pads=[1, 1, 1, 1])
        model.output(model.node("Cast", [quantized], ["y"], "y", to=FLOAT), FLOAT, [1, 24, 9, 9])
        check(f"convolution{zero}", model, [1, 6, 9, 9], exact=True)


def verified():
    """The bounds on errors of kernels that multiply codes fit."""
    for name in "weights", "long", "blocks_row", "blocks_many", "blocks_bytes_zeros", "block_rows":
        report = gradc("verify", path(f"{name}.onnx"), "--target", "cpu")
        expect(f"{name}: {report}", ", 0 wrong" in report)


products()
weights()
positions()
lookup()
batched()
convolutions()
codes()
integers()
in_blocks()
tied()
verified()
