"""The second stage of a detector as torchvision exports it: regions that a first stage keeps are pooled from the level of their size, classified
and moved, and those of high scores are the result. Only a run knows how many regions there are, on each level and in the end. Evaluated,
compiled, and on a (simulated) GPU, results equal Python's.

    second_stage.py
"""
import math
import os
import random
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, path
from devices import on_every_device, output, write
from onnx_writer import FLOAT, INT64, Model

BOXES, CHANNELS, CLASSES, BINS, BEST, HIDDEN = 24, 3, 4, 2, 10, 5
LEVELS = {"fine": (16, 0.5), "coarse": (8, 0.25)}  # pixels along a side, and the scale of coordinates
LARGE, HIGH, SAMPLES = 60.0, 0.3, 2
FEATURES = CHANNELS * BINS * BINS
WEIGHTS = {"fc": (HIDDEN, FEATURES), "score": (CLASSES, HIDDEN), "move": (4 * CLASSES, HIDDEN)}
numbers = random.Random(8)
weights = {name: [numbers.gauss(0, 1) for _ in range(rows * columns)] for name, (rows, columns) in WEIGHTS.items()}


def column(n, boxes, name, i):
    return n("Gather", [boxes, i], name, axis=1)


def positions(n, condition, name):
    """torch.where(condition)[0]."""
    places = n("Transpose", [n("NonZero", [condition], name + "_found")], name + "_places", perm=[1, 0])
    return n("Squeeze", [n("Split", [places, "ones"], name + "_part", axis=1), "ones"], name)


def proposals(n):
    """Boxes of scores above the limit, then those that are wide enough, of which the first ones stay."""
    boxes = n("Gather", ["boxes", positions(n, n("Greater", ["scores", "limit"], "above"), "likely")], "likely_boxes")
    width = n("Sub", [column(n, boxes, "right", "two"), column(n, boxes, "left", "zero")], "width")
    wide = n("Gather", [boxes, positions(n, n("GreaterOrEqual", [width, "least"], "is_wide"), "wide")], "wide_boxes")
    return n("Slice", [wide, "zeros", "best", "zeros"], "rois")


def pooled(n, rois):
    """Regions of each level are pooled, and scattered to their places among all regions."""
    shape = n("Shape", [n("Slice", [rois, "zeros", "ones", "ones"], "one_column")], "column_shape")
    owned = n("Concat", [n("ConstantOfShape", [shape], "owner"), rois], "owned", axis=1)
    width = n("Sub", [column(n, rois, "roi_right", "two"), column(n, rois, "roi_left", "zero")], "roi_width")
    height = n("Sub", [column(n, rois, "roi_bottom", "three"), column(n, rois, "roi_top", "one")], "roi_height")
    level = n("Cast", [n("Greater", [n("Mul", [width, height], "area"), "large"], "is_large")], "level", to=INT64)
    count = n("Unsqueeze", [n("Gather", [n("Shape", [level], "level_shape"), "zero"], "count"), "zeros"], "counts")
    result = n("ConstantOfShape", [n("Concat", [count, "bins"], "pooled_shape", axis=0)], "nothing")
    for i, (name, (_, scale)) in enumerate(LEVELS.items()):
        places = positions(n, n("Equal", [level, ("zero", "one")[i]], name + "_is"), name)
        own = n("Gather", [owned, places], name + "_owned")
        owners = n("Squeeze", [n("Gather", [own, "zeros"], name + "_owner", axis=1), "ones"], name + "_owners")
        regions = n("RoiAlign", [name + "_map", n("Gather", [own, "sides"], name + "_rois", axis=1), n("Cast", [owners], name + "_pictures", to=INT64)],
                    name + "_regions", output_height=BINS, output_width=BINS, sampling_ratio=SAMPLES, spatial_scale=scale,
                    coordinate_transformation_mode="output_half_pixel")
        here = n("Reshape", [places, "as_regions"], name + "_here")
        wanted = n("Concat", [n("Unsqueeze", [n("Gather", [n("Shape", [here], name + "_shape"), "zero"], name + "_count"), "zeros"], name + "_counts"),
                              "bins"], name + "_wanted", axis=0)
        result = n("ScatterElements", [result, n("Expand", [here, wanted], name + "_index"), regions], name + "_pooled", axis=0)
    return result, count


def stage():
    model = Model("stage")
    n = lambda op, inputs, output, **attributes: model.node(op, inputs, [output], output, **attributes)
    for name, shape in ("boxes", [BOXES, 4]), ("scores", [BOXES]), ("limit", [1]), *((f"{level}_map", [1, CHANNELS, size, size])
                                                                                    for level, (size, _) in LEVELS.items()):
        model.input(name, FLOAT, shape)
    for i, name in enumerate(("zero", "one", "two", "three")):
        model.initializer(name, INT64, [], [i])
    for name, values in ("zeros", [0]), ("ones", [1]), ("best", [BEST]), ("bins", [CHANNELS, BINS, BINS]), ("sides", [1, 2, 3, 4]), \
            ("as_regions", [-1, 1, 1, 1]), ("rest", [-1]), ("as_moves", [-1, 4]), ("of_classes", [CLASSES, 4]), ("as_row", [1, -1]), ("end", [2**63 - 1]):
        model.initializer(name, INT64, [len(values)], values)
    for name, value in ("least", 2.0), ("large", LARGE), ("high", HIGH):
        model.initializer(name, FLOAT, [], [value])
    for name, shape in WEIGHTS.items():
        model.initializer(name, FLOAT, shape, weights[name])
    rois = proposals(n)
    features, count = pooled(n, rois)
    hidden = n("Relu", [n("Gemm", [n("Flatten", [features], "flat", axis=1), "fc"], "hidden", transB=1)], "positive")
    chances = n("Softmax", [n("Gemm", [hidden, "score"], "class_scores", transB=1)], "chances", axis=-1)
    moves = n("Reshape", [n("Gemm", [hidden, "move"], "all_moves", transB=1), n("Concat", [count, "of_classes"], "moves_shape", axis=0)], "moves")
    moved = n("Add", [n("Unsqueeze", [rois, "ones"], "each_roi"), moves], "moved")
    end = n("Add", ["zeros", count], "count_again")
    of_picture = lambda x, name: n("Slice", [n("Slice", [x, "zeros", end, "zeros"], name + "_of_picture"), "ones", "end", "ones"], name + "_objects")
    row = n("Reshape", [n("Range", ["zero", n("Gather", [n("Shape", [chances], "chances_shape"), "one"], "number"), "one"], "labels_once"), "as_row"], "label_row")
    labels = n("Expand", [row, n("Shape", [chances], "labels_shape")], "each_label")
    flat_boxes = n("Reshape", [of_picture(moved, "moved"), "as_moves"], "flat_boxes")
    flat_chances, flat_labels = (n("Reshape", [of_picture(x, name), "rest"], "flat_" + name) for x, name in ((chances, "chances"), (labels, "labels")))
    found = positions(n, n("Greater", [flat_chances, "high"], "is_high"), "high_ones")
    for name, x, dtype, dims in ("final_boxes", flat_boxes, FLOAT, ["K", 4]), ("final_scores", flat_chances, FLOAT, ["K"]), ("final_labels", flat_labels, INT64, ["K"]):
        model.output(n("Gather", [x, found], name), dtype, dims)
    model.save(path("stage.onnx"))


def at(picture, size, y, x):
    """Between pixels; up to one pixel outside counts as the border."""
    if not (-1 <= y <= size and -1 <= x <= size):
        return 0
    y, x = (min(max(v, 0), size - 1) for v in (y, x))
    top, left = int(y), int(x)
    dy, dx = y - top, x - left
    bottom, right = min(top + 1, size - 1), min(left + 1, size - 1)
    above = picture[top * size + left] * (1 - dx) + picture[top * size + right] * dx
    return above * (1 - dy) + (picture[bottom * size + left] * (1 - dx) + picture[bottom * size + right] * dx) * dy


def pool(features, box, size, scale):
    left, top, right, bottom = (v * scale for v in box)
    width, height = max(right - left, 1) / (BINS * SAMPLES), max(bottom - top, 1) / (BINS * SAMPLES)
    for c in range(CHANNELS):
        plane = features[c * size * size:(c + 1) * size * size]
        for y in range(BINS):
            for x in range(BINS):
                yield sum(at(plane, size, top + (y * SAMPLES + i + 0.5) * height, left + (x * SAMPLES + j + 0.5) * width)
                          for i in range(SAMPLES) for j in range(SAMPLES)) / SAMPLES**2


def product(name, values):
    rows, columns = WEIGHTS[name]
    return [sum(weights[name][r * columns + c] * values[c] for c in range(columns)) for r in range(rows)]


def check(inputs, limit):
    boxes, scores = inputs["boxes"], inputs["scores"]
    kept = [boxes[4 * i:4 * i + 4] for i in range(BOXES) if scores[i] > limit]
    expected = []
    for box in [box for box in kept if box[2] - box[0] >= 2][:BEST]:
        name = "coarse" if (box[2] - box[0]) * (box[3] - box[1]) > LARGE else "fine"
        hidden = [max(v, 0) for v in product("fc", list(pool(inputs[name + "_map"], box, *LEVELS[name])))]
        chances, moves = [math.exp(v) for v in product("score", hidden)], product("move", hidden)
        for label in range(1, CLASSES):
            if chances[label] / sum(chances) > HIGH:
                expected.append(([v + m for v, m in zip(box, moves[4 * label:])], chances[label] / sum(chances), label))
    for name, wanted in ("boxes", [v for box, _, _ in expected for v in box]), ("scores", [score for _, score, _ in expected]):
        shape, found = output("final_" + name)
        expect(f"{name} above {limit}: {found} for {wanted}", shape[0] == len(expected) and len(found) == len(wanted)
               and all(abs(a - b) <= 1e-4 * max(1, abs(b)) for a, b in zip(found, wanted)))
    expect(f"labels above {limit}", output("final_labels") == ([len(expected)], [label for _, _, label in expected]))
    return len(expected)


def corners():
    for _ in range(BOXES):
        left, top = numbers.uniform(0, 24), numbers.uniform(0, 24)
        yield from (left, top, left + numbers.uniform(1, 12), top + numbers.uniform(1, 12))


stage()
inputs = {"boxes": write("boxes", corners(), (BOXES, 4)), "scores": write("scores", (numbers.random() for _ in range(BOXES)), (BOXES,))}
for name, (size, _) in LEVELS.items():
    inputs[name + "_map"] = write(name + "_map", (numbers.gauss(0, 1) for _ in range(CHANNELS * size * size)), (1, CHANNELS, size, size))
for limit in (0.2, 0.8, 2.0):  # more than BEST, fewer, none
    write("limit", [limit], (1,))
    on_every_device("stage", [*inputs, "limit"], lambda: check(inputs, limit))
