"""Derivatives as results: compiled from a spec, on more rows than one call takes, compared with JAX's numbers.

    gradients.py
"""
import array
import io
import math
import os
import re
import struct
import subprocess
import sys
import zipfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bars"))
from bar import REFERENCES, gradc, program, scratch, write_npy
from onnx_writer import FLOAT, Model

WITHIN = 1e-5  # of the largest number that a result has
folder = scratch()
checks = 0


def expect(what, holds):
    global checks
    if not holds:
        sys.exit(f"WRONG: {what}")
    checks += 1


def read_npy(file):
    """The shape of a .npy file and its f32 numbers."""
    head = file.read(10)
    header = file.read(struct.unpack("<H", head[8:])[0]).decode()
    assert "'<f4'" in header and "'fortran_order': False" in header, header
    values = array.array("f")
    values.frombytes(file.read())
    return [int(size) for size in re.search(r"\((.*?)\)", header)[1].split(",") if size.strip()], values


def reference(name):
    with zipfile.ZipFile(os.path.join(REFERENCES, "gradients.npz")) as archive:
        return read_npy(io.BytesIO(archive.read(name + ".npy")))


def result(run, name):
    with open(os.path.join(folder, run, name + ".npy"), "rb") as file:
        return read_npy(file)


def write_rows(name, rows=None):
    (count, *rest), values = reference(name)
    count = rows or count
    write_npy(os.path.join(folder, f"{name}{rows or ''}.npy"), values[:count * math.prod(rest)], (count, *rest))
    return os.path.join(folder, f"{name}{rows or ''}.npy")


def compile_spec(name, text, chunk, model="gradients.onnx"):
    spec = os.path.join(folder, name + ".textproto")
    with open(spec, "w") as file:
        file.write(f'model: "{os.path.join(REFERENCES, model)}"  chunk: {chunk}\n{text}')
    gradc("compile", spec, "-o", os.path.join(folder, name))
    return os.path.join(folder, name)


def run(artifact, name, *options, **inputs):
    given = [part for key, path in inputs.items() for part in ("--input", f"{key}={path}")]
    gradc("run", artifact, *given, "--output-dir", os.path.join(folder, name), *options)


def expect_close(run, pairs, rows=None):
    for name, of in pairs.items():
        (shape, found), (expected_shape, expected) = result(run, name), reference(of)
        if rows and expected_shape[0] > rows:
            expected = expected[:len(expected) // expected_shape[0] * rows]
            expected_shape[0] = rows
        expect(f"{run}: {name}: {shape}, expected {expected_shape}", shape == expected_shape)
        scale = max(1.0, max(abs(x) for x in expected))
        error = max(abs(a - b) for a, b in zip(found, expected)) / scale
        expect(f"{run}: {name}: off by {error:.1e}", error <= WITHIN)
        print(f"{run}: {name} {shape}: off by {error:.1e}")


SPEC = """gradients { of: "y" with_respect_to: "x" with_respect_to: "w1" }
gradients { of: "dy/dx" with_respect_to: "x" jacobian {} name: "hessian" }
gradients { of: "dy/dw1" with_respect_to: "w1" weights: "v" name: "hvp" }
"""
NAMES = {"y": "y", "dy_dx": "dy_dx", "dy_dw1": "dy_dw1", "hessian": "hessian", "hvp": "hvp"}


def many_rows():
    """4,096 rows in chunks of 1,000; the last chunk has 96."""
    x, v = write_rows("x"), write_rows("v")
    artifact = compile_spec("chunks", SPEC, 1000)
    run(artifact, "many", x=x, v=v)
    expect_close("many", NAMES)
    run(artifact, "limited", "--memory-mb", 40, x=x, v=v)
    for name in NAMES:
        expect(f"{name} depends on the limit of memory", result("many", name) == result("limited", name))
    short = subprocess.run([program("gradc"), "run", artifact, f"--input=x={x}", f"--input=v={v}", "--memory-mb=1"],
                           stderr=subprocess.PIPE, text=True)
    expect(short.stderr, short.returncode == 5 and re.fullmatch(
        r"gradc: error: --memory-mb 1 is too small: expected at least \d+, for 1000 rows at a time\n", short.stderr))
    # A run of one call, shorter than the chunk.
    run(artifact, "few", x=write_rows("x", 48), v=v)
    expect_close("few", {"y": "y", "dy_dx": "dy_dx", "hessian": "hessian"}, rows=48)


def single_rows():
    """A per-row gradient with respect to a shared value; selected rows of a Jacobian."""
    x = write_rows("x", 48)
    artifact = compile_spec("single", """
gradients { of: "y" with_respect_to: "w1" with_respect_to: "x" per_sample: true name: "g" }
gradients { of: "y" with_respect_to: "w1" }
""", 64)
    run(artifact, "rows", x=x)
    expect_close("rows", {"g_w1": "single", "g_x": "dy_dx", "y": "y"}, rows=48)
    shape, each = result("rows", "g_w1")
    sums = [math.fsum(each[i::64]) for i in range(64)]
    total = result("rows", "dy_dw1")[1]
    expect("the sum of all rows' gradients", max(abs(a - b) for a, b in zip(sums, total)) < 1e-4)

    artifact = compile_spec("picked", """
gradients { of: "y" with_respect_to: "x" }
gradients { of: "dy/dx" with_respect_to: "x" jacobian { element: 1 } name: "row" }
gradients { of: "dy/dx" with_respect_to: "w1" jacobian { element: 1  element: 0 } name: "mixed" }
""", 32)
    run(artifact, "picked-rows", x=x)
    shape, row = result("picked-rows", "row")
    hessian = reference("hessian")[1]
    expect(f"shape {shape}", shape == [48, 1, 2])
    expect("row 1 of the Hessian", all(abs(row[2 * n + i] - hessian[4 * n + 2 + i]) < WITHIN * 10
                                       for n in range(48) for i in range(2)))
    expect("the mixed derivative's shape", result("picked-rows", "mixed")[0] == [2, 2, 32])


def jacobian():
    """Every output of a linear model with respect to every input, and to the weights: the result is its weights."""
    model = Model("linear", opset=20)
    weights = [0.25 * i - 1 for i in range(12)]
    x = model.input("x", FLOAT, ["N", 3])
    model.output(model.node("MatMul", [x, model.initializer("w", FLOAT, [3, 4], weights)], ["y"], "fc"), FLOAT, ["N", 4])
    path = os.path.join(folder, "linear.onnx")
    model.save(path)
    artifact = compile_spec("linear", """
gradients { of: "y" with_respect_to: "x" with_respect_to: "w" jacobian {} name: "j" }
gradients { of: "y" with_respect_to: "x" weights: "v" }
gradients { of: "j/x" with_respect_to: "x" name: "second" }
""", 4, path)
    x = array.array("f", range(18))
    v = array.array("f", [1, 0, 0, 2] * 6)
    for name, values, shape in (("lx", x, (6, 3)), ("lv", v, (6, 4))):
        write_npy(os.path.join(folder, name + ".npy"), values, shape)
    run(artifact, "linear-run", x=os.path.join(folder, "lx.npy"), v=os.path.join(folder, "lv.npy"))
    shape, found = result("linear-run", "j_x")
    expect(f"shape {shape}", shape == [6, 4, 3])
    expect("dy/dx", all(found[(n * 4 + j) * 3 + i] == weights[4 * i + j]
                        for n in range(6) for j in range(4) for i in range(3)))
    shape, found = result("linear-run", "j_w")
    columns = [sum(x[i::3]) for i in range(3)]
    expect(f"shape {shape}", shape == [4, 3, 4])
    expect("dy/dw", all(found[(j * 3 + i) * 4 + k] == (columns[i] if j == k else 0)
                        for j in range(4) for i in range(3) for k in range(4)))
    shape, found = result("linear-run", "dy_dx")
    expect("v's product", list(found) == [weights[4 * i] + 2 * weights[4 * i + 3] for _ in range(6) for i in range(3)])
    shape, found = result("linear-run", "second")
    expect("the second derivative of a linear model", shape == [6, 3] and not any(found))


def shared_input():
    """A gradient with respect to an input shared by all rows is summed over chunks; a value that depends on no row is not."""
    model = Model("shared", opset=20)
    x, w = model.input("x", FLOAT, ["N", 3]), model.input("w", FLOAT, [3, 2])
    y = model.node("MatMul", [x, w], ["y"], "fc")
    model.output(model.node("Mul", [y, y], ["z"], "square"), FLOAT, ["N", 2])
    model.output(model.node("ReduceSumSquare", [w], ["penalty"], "penalty", keepdims=0), FLOAT, [])
    path = os.path.join(folder, "shared.onnx")
    model.save(path)
    artifact = compile_spec("shared", """
gradients { of: "z" with_respect_to: "w" }
gradients { of: "penalty" with_respect_to: "w" }
""", 4, path)
    x = array.array("f", [(i * 7 % 5) - 2 for i in range(33)])
    w = array.array("f", [1, -2, 3, 0.5, -1, 2])
    for name, values, shape in (("sx", x, (11, 3)), ("sw", w, (3, 2))):
        write_npy(os.path.join(folder, name + ".npy"), values, shape)
    run(artifact, "shared-run", x=os.path.join(folder, "sx.npy"), w=os.path.join(folder, "sw.npy"))
    y = [sum(x[3 * n + i] * w[2 * i + j] for i in range(3)) for n in range(11) for j in range(2)]
    expected = [sum(2 * y[2 * n + j] * x[3 * n + i] for n in range(11)) for i in range(3) for j in range(2)]
    expect("dz/dw", list(result("shared-run", "dz_dw")[1]) == expected)
    expect("the penalty's gradient", list(result("shared-run", "dpenalty_dw")[1]) == [2 * value for value in w])
    expect("the penalty", list(result("shared-run", "penalty")[1]) == [sum(value * value for value in w)])


def forward():
    """Inference takes any number of rows as well; coupled rows must be one batch."""
    artifact = os.path.join(folder, "model")
    gradc("compile", os.path.join(REFERENCES, "gradients.onnx"), "--shape", "x=500x2", "-o", artifact)
    run(artifact, "forward", x=os.path.join(folder, "x.npy"))
    expect_close("forward", {"y": "y"})
    model = Model("coupled", opset=20)
    x = model.input("x", FLOAT, ["N", 2])
    model.output(model.node("Softmax", [x], ["y"], "over rows", axis=0), FLOAT, ["N", 2])
    path = os.path.join(folder, "coupled.onnx")
    model.save(path)
    artifact = compile_spec("coupled", 'gradients { of: "y" with_respect_to: "x" }', 48, path)
    run(artifact, "coupled-run", x=os.path.join(folder, "x48.npy"))
    expect("columns add up to 1", abs(sum(result("coupled-run", "y")[1]) - 2) < 1e-5)
    expect("the gradient of their sum", max(map(abs, result("coupled-run", "dy_dx")[1])) < 1e-6)
    refused = subprocess.run([program("gradc"), "run", artifact, f"--input=x={os.path.join(folder, 'x.npy')}"],
                             stderr=subprocess.PIPE, text=True)
    expect(refused.stderr, refused.returncode == 2 and refused.stderr ==
           'gradc: error: expected at most 48 rows, found 4096: node "over rows" couples rows, so they must be one batch; '
           "compile it for a larger one\n")


def kinks():
    """Where an activation has two slopes the gradient is PyTorch's: pictures with black regions reach these points."""
    nodes = {"LeakyRelu": ((-0.0, 0.0), (0.1, 0.1), {"alpha": 0.1}), "HardSigmoid": ((-3.0, 3.0), (0, 0), {"alpha": 1 / 6}),
             "HardSwish": ((-3.0, 3.0), (0, 1), {}), "Clip": ((0.0, 6.0), (0, 0), {}), "PRelu": ((0.0, 0.0), (0.25, 0.25), {})}
    for op, (points, slopes, attributes) in nodes.items():
        model = Model(op, opset=20)
        more = {"Clip": [model.initializer("low", FLOAT, [], [0.0]), model.initializer("high", FLOAT, [], [6.0])],
                "PRelu": [model.initializer("slope", FLOAT, [1], [0.25])]}.get(op, [])
        model.output(model.node(op, [model.input("x", FLOAT, ["N", 2])] + more, ["y"], "kink", **attributes), FLOAT, ["N", 2])
        model.save(os.path.join(folder, op + ".onnx"))
        artifact = compile_spec("kink" + op, 'gradients { of: "y" with_respect_to: "x" }', 2, os.path.join(folder, op + ".onnx"))
        path = os.path.join(folder, op + ".npy")
        write_npy(path, array.array("f", points), (1, 2))
        run(artifact, "at" + op, x=path)
        _, found = result("at" + op, "dy_dx")
        expect(f"{op}: {list(found)}, expected {slopes}", all(abs(a - b) < 1e-6 for a, b in zip(found, slopes)))


many_rows()
single_rows()
jacobian()
shared_input()
forward()
kinks()
print(f"all: {checks} checks")
