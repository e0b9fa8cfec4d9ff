"""float8, float4, and integers of 4 and 2 bits: each code decodes to its number, and numbers round to the nearest code, ties to even,
according to tables that this script derives from the definitions of the formats. Compiled and evaluated; from .npy, TensorProto, and
packed initializers.

    narrow.py
"""
import math
import os
import struct
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, path
from bar import gradc, program
from onnx_writer import DOUBLE, FLOAT, INT8, UINT8, Model, message, tensor

# Name, number, bits, mantissa bits, bias, number of finite codes from 0 up, codes of infinity and of NaN, whether -0 exists.
FLOATS = [("e4m3fn", 17, 8, 3, 7, 0x7f, None, 0x7f, True), ("e4m3fnuz", 18, 8, 3, 8, 0x80, None, 0x80, False),
          ("e5m2", 19, 8, 2, 15, 0x7c, 0x7c, 0x7e, True), ("e5m2fnuz", 20, 8, 2, 16, 0x80, None, 0x80, False),
          ("e2m1", 23, 4, 1, 1, 8, None, None, True)]
INTEGERS = [("u4", 21, 0, 15), ("i4", 22, -8, 7), ("u2", 25, 0, 3), ("i2", 26, -2, 1)]
EXPONENT = 24
WAYS = [], ["--reference"], ["--target", "cpu:x86-64-v3"]


def table(kind):
    """The numbers represented by the finite codes without a sign."""
    _, _, _, mantissa, bias, finite, *_ = kind
    return [math.ldexp((code & (1 << mantissa) - 1) + (1 << mantissa) * (code >> mantissa > 0),
                       max(code >> mantissa, 1) - bias - mantissa) for code in range(finite)]


def decoded(kind, code):
    _, _, bits, _, _, finite, infinity, nan, minus_zero = kind
    sign, size = code >> bits - 1, code & (1 << bits - 1) - 1
    if not minus_zero and code == nan:
        return math.nan
    number = table(kind)[size] if size < finite else math.inf if size == infinity else math.nan
    return -number if sign else number


def encoded(kind, x, saturates):
    """The nearest code; the even one of two equally near codes."""
    _, _, bits, mantissa, _, finite, infinity, nan, minus_zero = kind
    numbers, sign = table(kind), 1 << bits - 1 if math.copysign(1, x) < 0 else 0
    if math.isnan(x):
        return 8 if nan is None else nan | sign  # of float4, which has no NaN, -0
    beyond = numbers[-1] + (numbers[-1] - numbers[-2]) / 2  # rounds up to a number that there is not, if the last code is odd
    if abs(x) > beyond or abs(x) == beyond and finite % 2 == 0:
        code = finite - 1 if saturates or nan is None else nan if infinity is None else infinity
    else:
        code = min(range(finite), key=lambda i: (abs(numbers[i] - abs(x)), i % 2))
    return code | sign if code or minus_zero else 0


def exponent_code(x, rounding, saturates):
    """float8e8m0: 2^(code - 127), for nonnegative numbers."""
    if math.isnan(x) or (math.isinf(x) and not saturates):
        return 255
    if math.isinf(x):
        return 254
    if x < 2.0**-127:
        return 0 if saturates else 255
    fraction, exponent = math.frexp(x)  # x = 2 fraction * 2^(exponent - 1)
    up = {"down": False, "up": fraction > 0.5, "nearest": fraction >= 0.75}[rounding]
    code = exponent - 1 + up + 127
    return code if code < 255 else 254 if saturates else 255


def interesting(kind):
    """Every number, midpoints between adjacent numbers and their neighbours, and numbers out of range."""
    numbers = table(kind)
    halves = [(a + b) / 2 for a, b in zip(numbers, numbers[1:] + [2 * numbers[-1] - numbers[-2]])]
    sizes = numbers + [half * factor for half in halves for factor in (1, 1 - 2.0**-20, 1 + 2.0**-20)]
    return [sign * size for sign in (1, -1) for size in [*sizes, 2 * numbers[-1], 1e30, 1e-30, math.inf]] + [math.nan, 0.3]


def write_npy(name, descr, data, shape):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    with open(path(name), "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", 118) + header.ljust(117).encode() + b"\n" + data)
    return path(name)


def read_npy(name):
    with open(path(f"out/{name}.npy"), "rb") as file:
        data = file.read()
    end = 10 + struct.unpack("<H", data[8:10])[0]
    return eval(data[10:end])["descr"], data[end:]  # a dictionary of literals


def run(model, inputs, more=()):
    given = [word for name, file in inputs.items() for word in ("--input", f"{name}={file}")]
    gradc("run", path(model), *given, "--output-dir", path("out"), *more)


def refused(what, code, said, *command):
    done = subprocess.run([program("gradc"), *command], capture_output=True, text=True)
    expect(f"{what}: exit code {done.returncode}, {done.stderr}", done.returncode == code and said in done.stderr)


def same(a, b):
    return a == b and math.copysign(1, a) == math.copysign(1, b) or math.isnan(a) and math.isnan(b)


def check_encoding():
    for source, letter in (FLOAT, "f"), (DOUBLE, "d"):
        model, expected = Model("encode", opset=25), {}
        numbers = [struct.unpack("<f", struct.pack("<f", x))[0] for kind in FLOATS for x in interesting(kind)]
        if source == DOUBLE:  # a ulp of f32 above or below the half would be lost on the way
            numbers = [x * (1 + 2.0**-40) for kind in FLOATS for x in interesting(kind)]
        x = model.input("x", source, [len(numbers)])
        for kind in FLOATS:
            for saturates in 0, 1:
                name = f"{kind[0]}_{saturates}"
                model.output(model.node("Cast", [x], [name], name, to=kind[1], saturate=saturates), kind[1], [len(numbers)])
                expected[name] = bytes(encoded(kind, number, saturates) for number in numbers)
        model.save(path("encode.onnx"))
        file = write_npy("x.npy", f"<f{struct.calcsize(letter)}", struct.pack(f"<{len(numbers)}{letter}", *numbers), [len(numbers)])
        for way in WAYS:
            run("encode.onnx", {"x": file}, way)
            for name, codes in expected.items():
                descr, found = read_npy(name)
                wrong = [(number, a, b) for number, a, b in zip(numbers, codes, found) if a != b and not (math.isnan(number) and a | 128 == b | 128)]
                expect(f"{name} {way}: (number, expected, found) {wrong[:5]} of type {descr}", descr == "<V1" and len(found) == len(codes) and not wrong)


def check_exponents():
    numbers = [2.0**e * f for e in (-127, -126, -1, 0, 126, 127) for f in (1, 1.25, 1.5, 1.75, 1.9999999)] + [0.0, 2.0**-149, 2.0**-128, math.inf, math.nan]
    numbers = [struct.unpack("<f", struct.pack("<f", x))[0] for x in numbers]
    model = Model("exponents", opset=25)
    x = model.input("x", FLOAT, [len(numbers)])
    for rounding in "up", "down", "nearest":
        for saturates in 0, 1:
            model.output(model.node("Cast", [x], [f"{rounding}{saturates}"], rounding, to=EXPONENT, saturate=saturates, round_mode=rounding), EXPONENT,
                         [len(numbers)])
    model.save(path("exponents.onnx"))
    file = write_npy("x.npy", "<f4", struct.pack(f"<{len(numbers)}f", *numbers), [len(numbers)])
    for way in WAYS:
        run("exponents.onnx", {"x": file}, way)
        for rounding in "up", "down", "nearest":
            for saturates in 0, 1:
                expected, found = bytes(exponent_code(x, rounding, saturates) for x in numbers), read_npy(f"{rounding}{saturates}")[1]
                expect(f"e8m0 {rounding} {saturates} {way}: {list(zip(numbers, expected, found))}", expected == found)


def check_decoding():
    model, inputs = Model("decode", opset=25), {}
    for name, number, bits, *_ in [*FLOATS, ("e8m0", EXPONENT, 8)]:
        model.output(model.node("Cast", [model.input(name, number, [1 << bits])], [f"{name}_f"], name, to=FLOAT), FLOAT, [1 << bits])
        inputs[name] = write_npy(f"{name}.npy", "|V1", bytes(range(1 << bits)), [1 << bits])
    model.save(path("decode.onnx"))
    for way in WAYS:
        run("decode.onnx", inputs, way)
        for kind in FLOATS:
            found = struct.unpack(f"<{1 << kind[2]}f", read_npy(f"{kind[0]}_f")[1])
            expect(f"{kind[0]} {way}: {found}", all(same(a, decoded(kind, code)) for code, a in enumerate(found)))
        found = struct.unpack("<256f", read_npy("e8m0_f")[1])
        expect(f"e8m0 {way}: {found}", all(same(a, 2.0**(code - 127) if code < 255 else math.nan) for code, a in enumerate(found)))


def packed(values, bits):
    codes = [value & (1 << bits) - 1 for value in values] + [0] * (-len(values) % (8 // bits))
    return bytes(sum(code << bits * i for i, code in enumerate(codes[at:at + 8 // bits])) for at in range(0, len(codes), 8 // bits))


def check_integers():
    """From packed initializers, a Constant with int32_data, .npy of numbers, and TensorProto; moved, widened, and quantized."""
    for name, number, least, most in INTEGERS:
        bits = (most - least + 1).bit_length() - 1
        values = [least + (3 * i + 1) % (most - least + 1) for i in range(9)]
        model = Model(name, opset=25)
        weights = model.initializer("w", number, [3, 3], data=packed(values, bits))
        constant = model.node("Constant", [], ["c"], "constant", value=message((1, [3, 3]), (2, number), (5, list(packed(values, bits)))))
        x = model.input("x", number, [3, 3])
        joined = model.node("Concat", [weights, constant, x], ["joined"], "join", axis=0)
        model.output(model.node("Transpose", [joined], ["turned"], "turn", perm=[1, 0]), number, [3, 9])
        model.output(model.node("Cast", [joined], ["wide"], "widen", to=INT8), INT8, [9, 3])
        scale = model.initializer("scale", FLOAT, [], [0.5])
        zero = model.initializer("zero", number, [], data=packed([1], bits))
        model.output(model.node("DequantizeLinear", [x, scale, zero], ["float"], "dequantize"), FLOAT, [3, 3])
        y = model.input("y", FLOAT, [6])
        model.output(model.node("QuantizeLinear", [y, scale, zero], ["quantized"], "quantize"), number, [6])
        model.output(model.node("Cast", [y], ["cut"], "cut", to=number), number, [6])
        model.save(path("integers.onnx"))
        numbers = [-100, -1.3, 0.25, 0.8, 1.7, 100]
        file = write_npy("y.npy", "<f4", struct.pack("<6f", *numbers), [6])
        with open(path("x.pb"), "wb") as proto:
            proto.write(tensor("x", number, [3, 3], data=packed(values, bits)))
        letter = "b" if least < 0 else "B"
        given = [path("x.pb"), write_npy("numbers.npy", "|i1" if least < 0 else "|u1", struct.pack(f"9{letter}", *values), [3, 3]),
                 write_npy("bits.npy", "|V1", struct.pack(f"9{letter}", *values), [3, 3])]
        for given, way in zip(given, WAYS):
            run("integers.onnx", {"x": given, "y": file}, way)
            read = lambda output, letter, size=1: list(struct.unpack(f"<{len(read_npy(output)[1]) // size}{letter}", read_npy(output)[1]))
            expect(f"{name} {way} wide: {read('wide', 'b')}", read("wide", "b") == 3 * values)
            expect(f"{name} {way} turned", read("turned", letter) == [(3 * values)[3 * i + j] for j in range(3) for i in range(9)])
            expect(f"{name} {way} type", read_npy("turned")[0] == ("|i1" if least < 0 else "|u1"))
            expect(f"{name} {way} float", read("float", "f", 4) == [0.5 * (value - 1) for value in values])
            quantized = [min(max(round(number / 0.5) + 1, least), most) for number in numbers]
            expect(f"{name} {way} quantized: {read('quantized', letter)}", read("quantized", letter) == quantized)
            cut = [(int(number) - least) % (most - least + 1) + least for number in numbers]
            expect(f"{name} {way} cut: {read('cut', letter)}", read("cut", letter) == cut)


def check_blocks():
    """4-bit weights with a scale per block of a column, in the form that quantizers export."""
    values = [(5 * i) % 16 - 8 for i in range(32)]
    scales = [0.5, 1.0, 2.0, 4.0]
    model = Model("blocks", opset=21)
    weights = model.initializer("w", 22, [8, 4], data=packed(values, 4))
    table = model.initializer("scales", FLOAT, [2, 4], scales + [2 * scale for scale in scales])
    dense = model.node("DequantizeLinear", [weights, table], ["dense"], "dequantize", axis=0, block_size=4)
    model.output(model.node("MatMul", [model.input("x", FLOAT, [1, 8]), dense], ["y"], "product"), FLOAT, [1, 4])
    model.save(path("blocks.onnx"))
    x = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0]
    for way in WAYS:
        run("blocks.onnx", {"x": write_npy("x.npy", "<f4", struct.pack("<8f", *x), [1, 8])}, way)
        expected = [sum(x[i] * values[4 * i + j] * scales[j] * (1 + i // 4) for i in range(8)) for j in range(4)]
        expect(f"blocks {way}", list(struct.unpack("<4f", read_npy("y")[1])) == expected)


def check_exponents_as_scales():
    """Microscaling: 4-bit weights in blocks with a power of two each."""
    codes = [(3 * i + 1) % 16 for i in range(8)]
    model = Model("microscaling", opset=25)
    weights = model.initializer("w", 23, [2, 4], data=packed(codes, 4))
    scales = model.initializer("scales", EXPONENT, [2, 2], data=bytes([127, 128, 126, 130]))
    model.output(model.node("DequantizeLinear", [weights, scales], ["y"], "dequantize", axis=1, block_size=2, output_dtype=FLOAT), FLOAT, [2, 4])
    model.save(path("microscaling.onnx"))
    for way in WAYS:
        run("microscaling.onnx", {}, way)
        found = list(struct.unpack("<8f", read_npy("y")[1]))
        expect(f"scales {way}: {found}", found == [decoded(FLOATS[4], code) * scale for code, scale in zip(codes, [1, 1, 2, 2, .5, .5, 8, 8])])


def check_bf16():
    """numpy has no bf16 either: its bits are read as V2, which is also written, and as u2."""
    codes = struct.pack("<3H", 0x3f80, 0xc020, 0x7f80)
    model = one_node("Neg", [16], 16)
    for descr in "<V2", "<u2":
        run("one.onnx", {"x0": write_npy("x.npy", descr, codes, [3])})
        found = read_npy("y")
        expect(f"bf16 of {descr}: {found}", found == ("<V2", struct.pack("<3H", 0xbf80, 0x4020, 0xff80)))
    refused("numbers", 3, 'input "x0": expected bf16 [3], found f16 [3]', "run", model, "--input", f"x0={write_npy('x.npy', '<f2', codes, [3])}",
            "--output-dir", path("out"))


def one_node(op, kinds, result, **attributes):
    model = Model("one", opset=25)
    names = [model.input(f"x{i}", kind, [3]) for i, kind in enumerate(kinds)]
    model.output(model.node(op, names, ["y"], "node", **attributes), result, [3])
    model.save(path("one.onnx"))
    return path("one.onnx")


def check_refusals():
    cast = one_node("Cast", [17], FLOAT, to=FLOAT)
    bytes3 = write_npy("bytes.npy", "|u1", b"\0\1\2", [3])
    refused("bytes", 3, 'input "x0": expected f8E4M3FN [3], found ui8 [3]', "run", cast, "--input", f"x0={bytes3}", "--output-dir", path("out"))
    opaque = write_npy("opaque.npy", "|V1", b"\0\1\2", [3])
    refused("opaque", 3, 'input "x0": expected ui8 [3], found V1 [3]', "run", one_node("Cast", [UINT8], FLOAT, to=FLOAT), "--input", f"x0={opaque}",
            "--output-dir", path("out"))
    wide = write_npy("wide.npy", "|u1", b"\0\1\x10", [3])
    refused("out of range", 3, 'input "x0": expected numbers from 0 to 15, found 16 at element 2', "run", one_node("Cast", [21], FLOAT, to=FLOAT),
            "--input", f"x0={wide}", "--output-dir", path("out"))
    for (op, kinds, result), attributes, said in [
            (("Add", [17, 17], 17), {}, 'Add cannot take narrow types, found operand 0 ("x0", float8e4m3fn [3]); cast it, or dequantize it, before'),
            (("Concat", [17, UINT8], 17), {"axis": 0},
             'expected operands of one element type, found operand 0 ("x0", float8e4m3fn [3]) and operand 1 ("x1", ui8 [3])'),
            (("Cast", [FLOAT], EXPONENT), {"to": EXPONENT, "round_mode": "even"}, 'expected round_mode "up", "down" or "nearest", found "even"'),
            (("QuantizeLinear", [FLOAT, FLOAT], EXPONENT), {"output_dtype": EXPONENT},
             "expected integers of 2 to 16 bits or floats of 4 or 8 with a mantissa"),
            (("QuantizeLinear", [FLOAT, FLOAT, 17], 19), {"output_dtype": 19},
             'expected a zero point of the output_dtype, found operand 2 ("x2", float8e4m3fn [3])'),
            (("QuantizeLinear", [17, FLOAT], UINT8), {}, 'expected numbers to quantize, found operand 0 ("x0", float8e4m3fn [3])'),
            (("DequantizeLinear", [22, 17], FLOAT), {"axis": 0}, 'expected numbers or float8e8m0 as scale, found operand 1 ("x1", float8e4m3fn [3])'),
            (("BitCast", [UINT8], 17), {"to": 17}, "BitCast to float8e4m3fn is not supported")]:
        refused(said, 3, said, "check", one_node(op, kinds, result, **attributes))
    short = Model("short", opset=21)
    short.output(short.node("Cast", [short.initializer("w", 22, [3], data=b"\0")], ["y"], "node", to=INT8), INT8, [3])
    short.save(path("short.onnx"))
    refused("short", 3, "expected 2 bytes of data for i4 [3], found 1", "check", path("short.onnx"))


def check_branches():
    """Branches return codes, which are outputs."""
    graph = message((1, [message((1, ["x"]), (2, ["b"]), (4, "Cast"), (5, [message((1, "to"), (3, 17), (20, 2))]))]), (2, "g"), (12, [message((1, "b"))]))
    branches = [message((1, name), (6, graph), (20, 5)) for name in ("then_branch", "else_branch")]
    model = Model("inside", opset=21)
    model.input("x", FLOAT, [3])
    model.nodes.append(message((1, [model.input("c", 9, [])]), (2, ["y"]), (3, "node"), (4, "If"), (5, branches)))
    model.output("y", 17, [3])
    model.save(path("inside.onnx"))
    x, c = write_npy("x.npy", "<f4", struct.pack("<3f", 1.0, 1.3, -1000.0), [3]), write_npy("c.npy", "|b1", b"\1", [])
    for way in WAYS:
        run("inside.onnx", {"x": x, "c": c}, way)
        expect(f"branch {way}: {read_npy('y')}", read_npy("y") == ("<V1", bytes([0x38, 0x3a, 0xfe])))


def check_gradients():
    """A gradient passes a cast to float8 and back unchanged, also where the cast saturates."""
    weights = [1.0, 0.3, 2.0, 1e-4, 1000.0, -0.5]
    model = Model("rounded", opset=21)
    codes = model.node("Cast", [model.input("x", FLOAT, [2, 3])], ["codes"], "narrow", to=17)
    turned = model.node("Transpose", [codes], ["turned"], "turn", perm=[1, 0])
    rounded = model.node("Cast", [turned], ["rounded"], "widen", to=FLOAT)
    # Constants: initializers would be parameters.
    factor = model.node("Constant", [], ["factor"], "weights", value=tensor("", FLOAT, [3, 2], weights))
    product = model.node("Mul", [rounded, factor], ["product"], "product")
    model.output(model.node("ReduceSum", [product], ["y"], "sum", keepdims=0), FLOAT, [])
    model.save(path("rounded.onnx"))
    with open(path("rounded.textproto"), "w") as file:
        file.write('model: "rounded.onnx"  gradients { of: "y" with_respect_to: "x" }')
    gradc("compile", path("rounded.textproto"), "-o", path("rounded"))
    x = write_npy("x.npy", "<f4", struct.pack("<6f", 0.1, 1.3, 500.0, 1e-4, -2.7, -math.inf), [2, 3])
    gradc("run", path("rounded"), "--input", f"x={x}", "--output-dir", path("out"))
    found = struct.unpack("<6f", read_npy("dy_dx")[1])
    expected = struct.unpack("<6f", struct.pack("<6f", *(weights[2 * j + i] for i in range(2) for j in range(3))))
    expect(f"gradient {found}, expected {expected}", found == expected)


check_encoding()
check_exponents()
check_decoding()
check_integers()
check_blocks()
check_exponents_as_scales()
check_bf16()
check_refusals()
check_branches()
check_gradients()
