"""Values whose extent only a run knows: nonzero elements and results computed from them, distinct rows, boxes that do not overlap, and a
detector as torchvision exports them: the best scores of each level, joined, of which those are kept whose boxes do not overlap.
Evaluated, compiled, and on a (simulated) GPU, they equal Python's results; the C interface receives the maximum and the extent; a node
that cannot take such a value reports it.

    run_extents.py
"""
import array
import math
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, path
from bar import gradc, program
from devices import on_every_device, output, write
from onnx_writer import BOOL, FLOAT, INT64, Model, message, node, value_info

ROWS, COLUMNS, BOXES, CLASSES = 7, 9, 40, 3
POINTS = 150
LEVELS, CANDIDATES, BEST = {"fine": 30, "coarse": 12}, 12, 8
PARTS = "values", "first", "inverse", "counts"
numbers = random.Random(5)


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
    some = model.node("Greater", [model.node("Squeeze", ["elements"], ["count"], "squeeze"), model.initializer("none", INT64, [], [0])], ["some"], "some")
    branches = [branch(name, [node("Identity", ["elements"], [name + "_length"])], name + "_length", [1]) for name in ("then_branch", "else_branch")]
    model.nodes.append(message((1, [some]), (2, ["length"]), (3, "if"), (4, "If"), (5, branches)))
    model.output(model.node("ConstantOfShape", ["length"], ["zeros"], "zeros"), FLOAT, ["K"])
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


def level(model, name, count):
    """The boxes, scores and labels of the CANDIDATES best scores above a limit, in PyTorch's form of torch.where and topk."""
    n = lambda op, inputs, outputs, **attributes: model.node(op, inputs, [f"{name}.{o}" for o in outputs], f"{name}.{outputs[0]}", **attributes)
    boxes, scores = model.input(f"{name}_boxes", FLOAT, [count, 4]), model.input(f"{name}_scores", FLOAT, [count, CLASSES])
    flat = n("Reshape", [scores, "all"], ["flat"])
    places = n("Transpose", [n("NonZero", [n("Greater", [flat, "limit"], ["above"])], ["positions"])], ["places"], perm=[1, 0])
    indices = n("Squeeze", [n("Split", [places], ["part"], axis=1, num_outputs=1), "one"], ["indices"])
    length = n("Unsqueeze", [n("Gather", [n("Shape", [indices], ["shape"]), "first"], ["length"]), "zero"], ["lengths"])
    k = n("Reshape", [n("ReduceMin", [n("Concat", ["candidates", length], ["lengths_too"], axis=0)], ["least"], keepdims=0), "one_element"], ["k"])
    n("TopK", [n("GatherND", [flat, places], ["picked"]), k], ["values", "order"])
    chosen = n("Gather", [indices, f"{name}.order"], ["chosen"])
    box = n("Gather", [boxes, n("Div", [chosen, "classes"], ["anchors"])], ["box"])
    box = n("Reshape", [n("Unsqueeze", [box, "one"], ["column"]), n("Shape", [box], ["box_shape"])], ["box_again"])
    ones = n("ConstantOfShape", [n("Shape", [f"{name}.values"], ["scores_shape"])], ["zeros"])
    return box, n("Add", [f"{name}.values", ones], ["sum"]), n("Mod", [chosen, "classes"], ["labels"])


def branch(name, nodes, result, dims):
    """The attribute of an If, a graph of one result."""
    return message((1, name), (6, message((1, nodes), (2, name), (12, value_info(result, INT64, dims)))), (20, 5))


def detector():
    """Two levels; a branch passes over the suppression if no score is above the limit."""
    model = Model("detector", opset=18)
    model.input("limit", FLOAT, [1])
    for name, values in ("all", [-1]), ("zero", [0]), ("one", [1]), ("one_element", [1]), ("first_two", [0, 1]), ("candidates", [CANDIDATES]), \
            ("most", [100]), ("box_column", [2]), ("best", [BEST]):
        model.initializer(name, INT64, [len(values)], values)
    for name, value in ("first", 0), ("classes", CLASSES), ("none", 0):
        model.initializer(name, INT64, [], [value])
    model.initializer("nothing", INT64, [0], [])
    model.initializer("overlap", FLOAT, [1], [0.3])
    model.initializer("more", FLOAT, [], [1.0])
    parts = zip(*(level(model, name, count) for name, count in LEVELS.items()))
    boxes, scores, labels = (model.node("Concat", list(part), [name], name, axis=0) for part, name in zip(parts, ("boxes", "scores", "labels")))
    elements = model.node("ReduceProd", [model.node("Shape", [boxes], ["shape"], "shape")], ["elements"], "elements", keepdims=0)
    is_empty = model.node("Equal", [elements, "none"], ["is_empty"], "empty")
    suppress = [node("ReduceMax", [boxes], ["largest"], keepdims=0), node("Add", ["largest", "more"], ["step"]), node("Cast", [labels], ["numbers"], to=FLOAT),
                node("Mul", ["numbers", "step"], ["offsets"]), node("Unsqueeze", ["offsets", "one"], ["column"]), node("Add", [boxes, "column"], ["apart"]),
                node("Unsqueeze", ["apart", "zero"], ["one_image"]), node("Unsqueeze", [scores, "first_two"], ["one_class"]),
                node("NonMaxSuppression", ["one_image", "one_class", "most", "overlap"], ["kept"], "nms"),
                node("Gather", ["kept", "box_column"], ["kept_boxes"], axis=1), node("Squeeze", ["kept_boxes", "one"], ["kept_indices"])]
    branches = [branch("then_branch", [node("Identity", ["nothing"], ["nobody"])], "nobody", [0]), branch("else_branch", suppress, "kept_indices", ["K"])]
    model.nodes.append(message((1, [is_empty]), (2, ["indices"]), (3, "if"), (4, "If"), (5, branches)))
    best = model.node("Slice", ["indices", "zero", "best", "zero"], ["best_indices"], "slice")
    for name, dtype, dims in (boxes, FLOAT, ["K", 4]), (scores, FLOAT, ["K"]), (labels, INT64, ["K"]):
        model.output(model.node("Gather", [name, best], [f"best_{name}"], f"best_{name}"), dtype, dims)
    model.save(path("detector.onnx"))


def ends():
    """The last element above a limit, the elements behind a fixed row, all positions in a row, and the smallest ones."""
    model = Model("ends", opset=18)
    x, limit = model.input("x", FLOAT, [ROWS, COLUMNS]), model.input("limit", FLOAT, [1])
    k = model.input("k", INT64, [1])
    for name, dims, values in ("last", [], [-1]), ("all", [1], [-1]), ("row", [1], [0]):
        model.initializer(name, INT64, dims, values)
    places = model.node("Transpose", [model.node("NonZero", [model.node("Greater", [x, limit], ["above"])], ["positions"], "nonzero")], ["places"])
    picked = model.node("GatherND", [x, places], ["picked"], "pick")
    model.output(model.node("Gather", [picked, "last"], ["ending"], "ending"), FLOAT, [])
    row = model.node("Reshape", [model.node("Gather", [x, "row"], ["first_row"], axis=0), "all"], ["flat_row"])
    model.output(model.node("Concat", [row, picked, row], ["joined"], "joined", axis=0), FLOAT, ["K"])
    model.output(model.node("Reshape", [places, "all"], ["flat_places"], "flat"), INT64, ["K"])
    model.node("TopK", [picked, k], ["least", "where"], "least", largest=0)
    model.output("least", FLOAT, ["K"])
    model.output(model.node("Gather", [places, "where"], ["of_least"], "of_least"), INT64, ["K", 2])
    model.save(path("ends.onnx"))


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
    expect("a shape that a branch computes", output("zeros") == ([count], [0] * count))
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


def check_detector(inputs, limit):
    candidates = []
    for name, count in LEVELS.items():
        boxes, scores = inputs[f"{name}_boxes"], inputs[f"{name}_scores"]
        above = sorted((i for i in range(count * CLASSES) if scores[i] > limit), key=lambda i: -scores[i])[:CANDIDATES]
        candidates += [(scores[i], i % CLASSES, boxes[4 * (i // CLASSES):4 * (i // CLASSES) + 4]) for i in above]
    best = []
    for score, label, box in sorted(candidates, key=lambda candidate: -candidate[0]):
        if all(label != other or overlap(box, kept) <= 0.3 for _, other, kept in best):
            best.append((score, label, box))
    best = best[:BEST]
    expect(f"best boxes above {limit}", output("best_boxes") == ([len(best), 4], [n for _, _, box in best for n in box]))
    expect("their scores", output("best_scores") == ([len(best)], [score for score, _, _ in best]))
    expect("their labels", output("best_labels") == ([len(best)], [label for _, label, _ in best]))


def check_ends(x, limit, k):
    places = [i for i, value in enumerate(x) if value > limit]
    picked = [x[i] for i in places]
    order = sorted(range(len(picked)), key=lambda i: picked[i])[:k]
    expect("the last one", output("ending") == ([], picked[-1:]))
    expect("behind and before a row", output("joined") == ([len(picked) + 2 * COLUMNS], x[:COLUMNS] + picked + x[:COLUMNS]))
    expect("positions in a row", output("flat_places") == ([2 * len(picked)], [n for i in places for n in divmod(i, COLUMNS)]))
    expect("the smallest", output("least") == ([len(order)], [picked[i] for i in order]))
    expect("their positions", output("of_least") == ([len(order), 2], [n for i in order for n in divmod(places[i], COLUMNS)]))


def refused_run(message, model, inputs):
    feeds = [part for name in inputs for part in ("--input", f"{name}={path(name)}.npy")]
    result = subprocess.run([program("gradc"), "run", path(model + ".onnx"), *feeds], capture_output=True, text=True)
    expect(f"{model}: expected {message}, found {result.stderr}", result.returncode and message in result.stderr)


picking(), distinct(), points(), detecting(), detector(), ends()
for limit in (0.5, -0.25, 1e9):
    x = write("x", (numbers.gauss(0, 1.5) for _ in range(ROWS * COLUMNS)), (ROWS, COLUMNS))
    write("limit", [limit], (1,))
    on_every_device("picking", ["x", "limit"], lambda: check_picking(x, limit))
    if limit == 1e9:
        refused_run("is out of range", "ends", ["x", "limit", "k"])
        continue
    k = 4 if limit > 0 else ROWS * COLUMNS  # more than there are
    write("k", [k], (1,), "q")
    on_every_device("ends", ["x", "limit", "k"], lambda: check_ends(x, limit, k))
mask = write("mask", (numbers.randrange(2) for _ in range(COLUMNS)), (COLUMNS,), "q")
on_every_device("distinct", ["x", "mask"], lambda: check_distinct(x, mask))
many = write("points", (numbers.randrange(-6, 6) / 2 for _ in range(2 * POINTS)), (POINTS, 2))
on_every_device("points", ["points"], lambda: check_points(many))
corners = [(numbers.uniform(0, 1), numbers.uniform(0, 1), numbers.uniform(0.1, 0.5), numbers.uniform(0.1, 0.5)) for _ in range(BOXES)]
flat = write("boxes", (n for y, x, h, w in corners for n in (y, x, y + h, x + w)), (1, BOXES, 4))
boxes = [flat[4 * i:4 * i + 4] for i in range(BOXES)]
scores = write("scores", (numbers.random() for _ in range(CLASSES * BOXES)), (1, CLASSES, BOXES))
on_every_device("detecting", ["boxes", "scores"], lambda: check_boxes(boxes, scores))

def corners_of(count):
    """Boxes of which many overlap."""
    for _ in range(count):
        y, x = numbers.uniform(0, 1), numbers.uniform(0, 1)
        yield from (y, x, y + numbers.uniform(0.2, 0.6), x + numbers.uniform(0.2, 0.6))


inputs = {}
for name, count in LEVELS.items():
    inputs[f"{name}_boxes"] = write(f"{name}_boxes", corners_of(count), (count, 4))
    inputs[f"{name}_scores"] = write(f"{name}_scores", (numbers.random() for _ in range(count * CLASSES)), (count, CLASSES))
for limit in (0.9, 0.5, 2.0):  # fewer than CANDIDATES, more, none
    write("limit", [limit], (1,))
    on_every_device("detector", ["limit", *inputs], lambda: check_detector(inputs, limit))

# The C interface returns the extent next to the value.
library = path("picking.so")
gradc("compile", path("picking.onnx"), "-o", library, "--emit=so")
shown = gradc("inspect", library)
expect(f"an extent of role extent in\n{shown}", "places.extent" in shown and "extent" in shown)


def refused(message, op, *operands, **attributes):
    model = Model("refused")
    x = model.input("x", FLOAT, [ROWS, COLUMNS])
    for name, values in ("shape", [-1]), ("from", [1]), ("to", [5]), ("axis", [1]), ("where", [0]), ("ten", [10]):
        model.initializer(name, INT64, [1], values)
    model.initializer("w", FLOAT, [2, 2], [1] * 4)
    model.initializer("wide", FLOAT, [2, MOST], [1] * (2 * MOST))
    model.node("NonZero", [x], ["positions"], "nonzero")
    model.node("Cast", ["positions"], ["numbers"], "cast", to=FLOAT)
    model.node("NonZero", ["w"], ["others"], "nonzero_too")
    model.initializer("parts", INT64, [2], [3, MOST - 3])
    model.initializer("limit", FLOAT, [1], [1.0])
    model.node("Size", ["positions"], ["size"], "size")
    length = model.node("Gather", [model.node("Shape", ["positions"], ["sizes"], "sizes"), "from"], ["length"], "length")
    for name in ("Min", "Max"):
        model.node(name, [length, "ten"], [name.lower()], name)
    model.node("Transpose", [model.node("Concat", ["numbers", "numbers"], ["four"], "four", axis=0)], ["corners"], "corners")
    model.node("Unsqueeze", ["corners", "where"], ["boxes"], "boxes")
    fewer = model.node("NonZero", [model.node("Greater", [x, "limit"], ["above"], "greater")], ["fewer"], "nonzero_again")
    row = model.node("Slice", [model.node("Cast", [fewer], ["fewer_numbers"], "cast_too", to=FLOAT), "where", "from", "where"], ["row"], "row")
    model.node("Unsqueeze", [row, "where"], ["class"], "class")
    model.output(model.node(op, list(operands), ["y"], "last", **attributes), FLOAT, ["K"])
    model.save(path("refused.onnx"))
    result = subprocess.run([program("gradc"), "compile", path("refused.onnx"), "-o", path("refused.so")], capture_output=True, text=True)
    expect(f"{op}: expected {message}, found {result.stderr}", result.returncode == 3 and message in result.stderr)


def refused_branches(wanted):
    model = Model("branches")
    x = model.input("x", FLOAT, [ROWS, COLUMNS])
    model.node("NonZero", [x], ["positions"], "nonzero")
    branches = [branch("then_branch", [node("Identity", ["positions"], ["same"])], "same", [2, "K"]),
                branch("else_branch", [node("Cast", [x], ["whole"], to=INT64)], "whole", [ROWS, COLUMNS])]
    model.nodes.append(message((1, [model.input("is_taken", BOOL, [])]), (2, ["y"]), (3, "if"), (4, "If"), (5, branches)))
    model.output("y", INT64, None)
    model.save(path("branches.onnx"))
    result = subprocess.run([program("gradc"), "compile", path("branches.onnx"), "-o", path("branches.so")], capture_output=True, text=True)
    expect(f"branches: expected {wanted}, found {result.stderr}", result.returncode == 3 and wanted in result.stderr)


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
refused(f'node "last": error: ArgMax cannot take operand 0 {NUMBERS}: only a run knows the extent of dim 1', "ArgMax", "numbers", axis=1, select_last_index=1)
refused("Reshape expected to keep dim 1 of operand 0", "Reshape", "numbers", "shape")
refused("Reshape expected the shape to be known at compile time, but only a run knows element 0 of operand 1", "Reshape", "x", "length")
refused("Split expected to split another dim than 1 of operand 0", "Split", "numbers", "parts", axis=1)
refused("Concat expected operands with one extent that only a run knows, in dim 1, found operand 1", "Concat", "numbers", "wide", axis=0)
refused("TopK cannot take operand 0", "TopK", "numbers", "size", axis=0)
refused("NonMaxSuppression expected one number of boxes that only a run knows, found operand 1", "NonMaxSuppression", "boxes", "class")
refused("Add expected size 1 in dim 1 of operand 1", "Add", "numbers", "wide")
refused("Slice expected all or the first elements of dim 1 of operand 0", "Slice", "numbers", "from", "to", "axis")
refused("Slice expected all or the first elements of dim 1 of operand 0", "Slice", "numbers", "where", "shape", "axis")
# These follow the extent, but are not it: the smaller one is 10 near the maximum, the larger one 10 for few elements.
for bounded in ("min", "max"):
    refused(f'ConstantOfShape expected the shape to be known at compile time, but operand 0 ("{bounded}", i64 [1]) is computed', "ConstantOfShape", bounded)
refused("only a run knows the extent of an indexed dim", "Gather", "numbers", "positions", axis=0)
refused_branches(f"expected branches with results of the same types, as only a run knows which is taken, found (i64 [2, {MOST}]) and (i64 [{ROWS}, {COLUMNS}])")
refused_loss('cannot take "numbers", f32 [2, 4]: only a run knows the extent of dim 1')
