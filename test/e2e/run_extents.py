"""Values whose extent only a run knows: nonzero elements and results computed from them, distinct rows, boxes that do not overlap.
Evaluated, compiled, and on a (simulated) GPU, they equal Python's results; the C interface receives the maximum and the extent; a node
that cannot take such a value reports it.

    run_extents.py
"""
import array
import math
import os
import random
import subprocess

from case import expect, path
from bar import BIN, gradc, program, read_npy, write_npy
from onnx_writer import BOOL, FLOAT, INT64, Model

ROWS, COLUMNS, BOXES, CLASSES = 7, 9, 40, 3
POINTS = 150
PARTS = "values", "first", "inverse", "counts"
SIMULATED = dict(os.environ, GRADC_LIBCUDA=os.path.join(BIN, "../test/gradc-simulated-cuda.so"))
numbers = random.Random(5)


def output(name):
    with open(path(f"out/{name}.npy"), "rb") as file:
        shape, values = read_npy(file.read())
    return list(shape), list(values)


def picking():
    """The elements above a limit in PyTorch's form of x[x > limit], their positions, and reductions of them."""
    model = Model("picking")
    x = model.input("x", FLOAT, [ROWS, COLUMNS])
    limit = model.input("limit", FLOAT, [1])
    positions = model.node("NonZero", [model.node("Greater", [x, limit], ["above"], "greater")], ["positions"], "nonzero")
    places = model.node("Transpose", [positions], ["places"], "transpose", perm=[1, 0])
    picked = model.node("GatherND", [x, places], ["picked"], "pick")
    twice = model.node("Add", [model.node("Exp", [picked], ["exp"], "exp"), picked], ["twice"], "add")
    model.output(model.node("CastLike", [limit, positions], ["whole"], "castlike"), INT64, [1])
    for name in ("Sum", "Mean", "Max", "Min", "L2", "LogSumExp"):
        model.output(model.node("Reduce" + name, [picked], [name.lower()], name, keepdims=0), FLOAT, [])
    model.output(model.node("Size", [positions], ["numbers"], "size"), INT64, [])
    model.output(model.node("Shape", [twice], ["elements"], "shape"), INT64, [1])
    model.output(places, INT64, ["K", 2])
    model.output(twice, FLOAT, ["K"])
    model.save(path("picking.onnx"))


def distinct():
    model = Model("distinct", opset=17)
    x = model.input("x", FLOAT, [ROWS, COLUMNS])
    mask = model.node("Cast", [model.input("mask", INT64, [COLUMNS])], ["is_kept"], "cast", to=BOOL)
    rounded = model.node("Round", [x], ["rounded"], "round")
    model.node("Unique", [rounded], list(PARTS), "unique")
    for name, dims in ("values", ["K"]), ("first", ["K"]), ("inverse", [ROWS * COLUMNS]), ("counts", ["K"]):
        model.output(name, FLOAT if name == "values" else INT64, dims)
    model.output(model.node("Compress", [x, mask], ["columns"], "compress", axis=1), FLOAT, [ROWS, "K"])
    model.save(path("distinct.onnx"))


def points():
    """Distinct numbers in order, and distinct points in order of their first positions: both are sorted."""
    model = Model("points", opset=17)
    x = model.input("points", FLOAT, [POINTS, 2])
    for name, options in ("number", {}), ("point", dict(axis=0, sorted=0)):
        model.node("Unique", [x], [f"{name}_{part}" for part in PARTS], name, **options)
        for part in PARTS:
            count = POINTS if name == "point" else 2 * POINTS
            dims = [count] if part == "inverse" else ["K", 2] if (name, part) == ("point", "values") else ["K"]
            model.output(f"{name}_{part}", FLOAT if part == "values" else INT64, dims)
    model.save(path("points.onnx"))


def detecting():
    model = Model("detecting")
    boxes, scores = model.input("boxes", FLOAT, [1, BOXES, 4]), model.input("scores", FLOAT, [1, CLASSES, BOXES])
    most = model.initializer("most", INT64, [1], [6])
    overlap, least = model.initializer("overlap", FLOAT, [1], [0.3]), model.initializer("least", FLOAT, [1], [0.2])
    model.output(model.node("NonMaxSuppression", [boxes, scores, most, overlap, least], ["kept"], "nms"), INT64, ["K", 3])
    model.save(path("detecting.onnx"))


def close(found, expected):
    return len(found) == len(expected) and all(abs(a - b) <= 1e-5 * max(1, abs(b)) for a, b in zip(found, expected))


def f32(values):
    return list(array.array("f", values))


def check_picking(x, limit):
    places = [i for i, value in enumerate(x) if value > limit]
    picked = [x[i] for i in places]
    count = len(places)
    expect(f"positions above {limit}", output("places") == ([count, 2], [n for i in places for n in divmod(i, COLUMNS)]))
    shape, twice = output("twice")
    expect(f"elements above {limit}", shape == [count] and close(twice, [math.exp(v) + v for v in picked]))
    expect("how many there are", output("numbers") == ([], [2 * count]) and output("elements") == ([1], [count]))
    expect("another's type alone", output("whole") == ([1], [int(limit)]))
    expect("their sum", close(output("sum")[1], [sum(picked)]))
    mean = output("mean")[1]
    expect("their mean", close(mean, [sum(picked) / count]) if count else mean[0] != mean[0])
    expect("the largest", close(output("max")[1], [max(picked)]) if count else output("max")[1] == [-math.inf])
    expect("the smallest", close(output("min")[1], [min(picked)]) if count else output("min")[1] == [math.inf])
    expect("their norm", close(output("l2")[1], [math.sqrt(sum(v * v for v in picked))]))
    exponentials = sum(map(math.exp, picked))
    expect("logsumexp", close(output("logsumexp")[1], [math.log(exponentials)]) if count else output("logsumexp")[1] == [-math.inf])


def check_distinct(x, mask):
    rounded = f32(map(round, x))
    values = sorted(set(rounded))
    expect("distinct values", output("values") == ([len(values)], values))
    expect("where they are first", output("first")[1] == [rounded.index(value) for value in values])
    expect("their places", output("inverse") == ([ROWS * COLUMNS], [values.index(value) for value in rounded]))
    expect("how many there are", output("counts")[1] == [rounded.count(value) for value in values])
    columns = [c for c in range(COLUMNS) if mask[c]]
    expect("columns", output("columns") == ([ROWS, len(columns)], [x[r * COLUMNS + c] for r in range(ROWS) for c in columns]))


def check_points(x):
    def check(name, rows, order):
        expect(f"distinct {name}s", output(name + "_values")[1] == [n for row in order for n in row])
        expect(f"where {name}s are first", output(name + "_first") == ([len(order)], [rows.index(row) for row in order]))
        expect(f"places of {name}s", output(name + "_inverse") == ([len(rows)], [order.index(row) for row in rows]))
        expect(f"counts of {name}s", output(name + "_counts") == ([len(order)], [rows.count(row) for row in order]))
    numbers, pairs = list(zip(x)), list(zip(x[::2], x[1::2]))
    check("number", numbers, sorted(set(numbers)))
    check("point", pairs, list(dict.fromkeys(pairs)))


def overlap(a, b):
    height = max(0, min(a[2], b[2]) - max(a[0], b[0]))
    width = max(0, min(a[3], b[3]) - max(a[1], b[1]))
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return height * width / (sum(areas) - height * width)


def check_boxes(boxes, scores):
    expected = []
    for c in range(CLASSES):
        own, kept = scores[c * BOXES:(c + 1) * BOXES], []
        for i in sorted(range(BOXES), key=lambda i: -own[i]):
            if own[i] > 0.2 and len(kept) < 6 and all(overlap(boxes[i], boxes[k]) <= 0.3 for k in kept):
                kept.append(i)
        expected += [n for i in kept for n in (0, c, i)]
    expect("boxes", output("kept") == ([len(expected) // 3, 3], expected))


def on_every_device(model, inputs, check):
    """Evaluated, compiled for CPUs, and for a simulated GPU."""
    feeds = [part for name in inputs for part in ("--input", f"{name}={path(name)}.npy")]
    onnx, cuda = path(model + ".onnx"), path(model + "-cuda.so")
    gradc("compile", onnx, "--target", "cuda:sm_90", "--llvm-image", "-o", cuda, "--emit=so")
    for file, *options in (onnx, "--reference"), (onnx,), (cuda,):
        result = subprocess.run([program("gradc"), "run", file, *options, *feeds, "--output-dir", path("out")], capture_output=True, text=True,
                                env=SIMULATED)
        expect(f"{file} {options}: {result.stderr}", result.returncode == 0)
        check()


def write(name, values, shape, kind="f"):
    values = array.array(kind, values)
    write_npy(path(name + ".npy"), values, shape)
    return list(values)


picking(), distinct(), points(), detecting()
for limit in (0.5, -0.25, 1e9):
    x = write("x", (numbers.gauss(0, 1.5) for _ in range(ROWS * COLUMNS)), (ROWS, COLUMNS))
    write("limit", [limit], (1,))
    on_every_device("picking", ["x", "limit"], lambda: check_picking(x, limit))
mask = write("mask", (numbers.randrange(2) for _ in range(COLUMNS)), (COLUMNS,), "q")
on_every_device("distinct", ["x", "mask"], lambda: check_distinct(x, mask))
many = write("points", (numbers.randrange(-6, 6) / 2 for _ in range(2 * POINTS)), (POINTS, 2))
on_every_device("points", ["points"], lambda: check_points(many))
corners = [(numbers.uniform(0, 1), numbers.uniform(0, 1), numbers.uniform(0.1, 0.5), numbers.uniform(0.1, 0.5)) for _ in range(BOXES)]
flat = write("boxes", (n for y, x, h, w in corners for n in (y, x, y + h, x + w)), (1, BOXES, 4))
boxes = [flat[4 * i:4 * i + 4] for i in range(BOXES)]
scores = write("scores", (numbers.random() for _ in range(CLASSES * BOXES)), (1, CLASSES, BOXES))
on_every_device("detecting", ["boxes", "scores"], lambda: check_boxes(boxes, scores))

# The C interface returns the extent next to the value.
library = path("picking.so")
gradc("compile", path("picking.onnx"), "-o", library, "--emit=so")
shown = gradc("inspect", library)
expect(f"an extent of role extent in\n{shown}", "places.extent" in shown and "extent" in shown)


def refused(message, op, *operands, **attributes):
    model = Model("refused")
    x = model.input("x", FLOAT, [ROWS, COLUMNS])
    for name, values in ("shape", [-1]), ("from", [1]), ("to", [5]), ("axis", [1]), ("where", [0]):
        model.initializer(name, INT64, [1], values)
    model.initializer("w", FLOAT, [2, 2], [1] * 4)
    model.initializer("wide", FLOAT, [2, MOST], [1] * (2 * MOST))
    model.node("NonZero", [x], ["positions"], "nonzero")
    model.node("Cast", ["positions"], ["numbers"], "cast", to=FLOAT)
    model.node("NonZero", ["w"], ["others"], "nonzero_too")
    model.output(model.node(op, list(operands), ["y"], "last", **attributes), FLOAT, ["K"])
    model.save(path("refused.onnx"))
    result = subprocess.run([program("gradc"), "compile", path("refused.onnx"), "-o", path("refused.so")], capture_output=True, text=True)
    expect(f"{op}: expected {message}, found {result.stderr}", result.returncode == 3 and message in result.stderr)


def refused_loss(message):
    """A value without a fixed extent cannot be a loss, and no gradient can be requested for it."""
    model = Model("loss")
    x = model.input("x", FLOAT, ["N", COLUMNS])
    w = model.initializer("w", FLOAT, [COLUMNS, 2], [0.1] * (2 * COLUMNS))
    places = model.node("NonZero", [model.node("MatMul", [x, w], ["scores"], "fc")], ["places"], "nonzero")
    model.output(model.node("Cast", [places], ["numbers"], "cast", to=FLOAT), FLOAT, [2, "K"])
    model.save(path("loss.onnx"))
    with open(path("loss.textproto"), "w") as file:
        file.write('''model: "loss.onnx" loss { scalar: "numbers" } optimizer { sgd { learning_rate: 0.1 } }
data { source { npy { field { name: "x" path: "x.npy" } } } stage { batch { size: 2 } } }''')
    result = subprocess.run([program("gradc"), "compile", path("loss.textproto"), "-o", path("loss")], capture_output=True, text=True)
    expect(f"loss: expected {message}, found {result.stderr}", result.returncode in (1, 3) and message in result.stderr)


MOST = ROWS * COLUMNS
NUMBERS = f'("numbers", f32 [2, {MOST}])'
refused(f'node "last": error: MatMul cannot take operand 1 {NUMBERS}: only a run knows the extent of dim 1', "MatMul", "w", "numbers")
refused(f"Reshape cannot take operand 0 {NUMBERS}: only a run knows the extent of dim 1", "Reshape", "numbers", "shape")
refused("Add expected size 1 in dim 1 of operand 1", "Add", "numbers", "wide")
refused("Slice expected all of dim 1 of operand 0", "Slice", "numbers", "from", "to", "axis")
refused("only a run knows the extent of an indexed dim", "Gather", "numbers", "where", axis=1)
refused_loss('cannot take "numbers", f32 [2, 4]: only a run knows the extent of dim 1')
