"""Lets `gradc init` draft specs for small models and data of every kind. Each draft passes check and trains; data that do not match their
model are refused with both in the message.

    init_drafts.py ROOT
"""
import array
import os
import random
import struct
import subprocess
import sys
import zipfile
import zlib

sys.path[:0] = [os.path.join(sys.argv[1], "test"), os.path.join(sys.argv[1], "test/bars")]
from bar import DIGITS, gradc, scratch, write_npy
from onnx_writer import FLOAT, FLOAT16, INT64, Model

NUMBERS = random.Random(4)


def linear(path, inputs, outputs, output="y", batch="N", more=()):
    """A dense layer; `more`: names of inputs with one integer each, which select rows of tables."""
    model = Model("linear", opset=17)
    shape = [inputs] if isinstance(inputs, int) else list(inputs)
    x = model.input("x", FLOAT, [batch, *shape])
    size = 1
    for dim in shape:
        size *= dim
    if len(shape) > 1:
        x = model.node("Flatten", [x], ["flat"], "flatten", axis=1)
    weight = model.initializer("w", FLOAT, [size, outputs], [NUMBERS.gauss(0, 0.1) for _ in range(size * outputs)])
    value = model.node("Gemm", [x, weight, model.initializer("b", FLOAT, [outputs], [0.0] * outputs)], ["own"], "fc")
    for name in more:
        table = model.initializer(f"{name}.table", FLOAT, [4, outputs], [NUMBERS.gauss(0, 0.1) for _ in range(4 * outputs)])
        row = model.node("Gather", [table, model.input(name, INT64, [batch])], [f"{name}.row"], f"{name}.gather")
        value = model.node("Add", [value, row], [f"{name}.sum"], f"{name}.add")
    model.output(model.node("Identity", [value], [output], "end"), FLOAT, [batch, outputs])
    model.save(path)


def half(path, shape):
    model = Model("half", opset=17)
    model.output(model.node("Exp", [model.input("x", FLOAT16, ["N", *shape])], ["y"], "exp"), FLOAT16, ["N", *shape])
    model.save(path)


def tokens(path, length, op="Gather"):
    """Scores of 3 classes for each of "T" tokens; `length`: the output's own name of that dim."""
    model = Model("tokens", opset=17)
    table = model.initializer("table", FLOAT, [5, 3], [NUMBERS.gauss(0, 0.1) for _ in range(15)])
    model.output(model.node(op, [table, model.input("ids", INT64, ["N", "T"])], ["y"], "look"), FLOAT, ["N", length, 3])
    model.save(path)


def picture(path, value):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
    rows = b"".join(b"\0" + bytes([value, 255 - value, NUMBERS.randrange(256)] * 8) for _ in range(8))
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 8, 8, 8, 2, 0, 0, 0)) + chunk(b"IDAT", zlib.compress(rows)) +
                   chunk(b"IEND", b""))


def table(path, header, row, rows=200, delimiter=","):
    with open(path, "w") as file:
        file.write(delimiter.join(map(str, header)) + "\n")
        file.writelines(delimiter.join(map(str, row(i))) + "\n" for i in range(rows))


def drafts(folder, model, data, *expected):
    """Drafts, checks, and trains; the draft contains the expected texts."""
    spec = os.path.join(folder, "train.textproto")
    if os.path.exists(spec):
        os.remove(spec)
    gradc("init", model, "--data", data, cwd=folder)
    with open(spec) as file:
        text = file.read()
    for part in expected:
        if part not in text:
            sys.exit(f"expected {part} in the draft for {data}:\n{text}")
    gradc("check", spec)
    said = gradc("train", spec, "--epochs", 2, "--checkpoint", os.path.join(scratch(), "run"), "--export", os.path.join(folder, "out.onnx"))
    if "evaluation: loss" not in said:
        sys.exit(f"expected an evaluation of the draft for {data}, found {said}")
    print(f"{os.path.basename(data)}: drafted, checked, trained", flush=True)


def refuses(folder, model, data, *expected):
    result = subprocess.run(["gradc", "init", model, "--data", data, "-o", os.path.join(folder, "none")], stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True)
    if result.returncode != 3 or any(part not in result.stdout for part in expected):
        sys.exit(f"expected exit code 3 and {expected}, found {result.returncode}: {result.stdout}")


def tables(folder):
    inside = lambda name: os.path.join(folder, name)
    number = lambda: round(NUMBERS.gauss(50, 20), 2)
    flowers = ["a", "b", "c"]
    linear(inside("three.onnx"), 4, 3)
    table(inside("flowers.csv"), ["id", "l", "w", "pl", "pw", "species"], lambda i: [i, number(), number(), number(), "" if i % 7 == 0 else number(), flowers[i % 3]])
    drafts(folder, "three.onnx", "flowers.csv", "categories {}", 'stratify: "species"', "softmax_cross_entropy", "standardize {}", "fill: MEDIAN",
           "preprocessing: true", 'Column "id" is not used')
    linear(inside("one.onnx"), 2, 1)
    table(inside("prices.tsv"), ["rooms", "size", "price"], lambda i: [i % 5, i, i * 100.5], delimiter="\t")
    drafts(folder, "one.onnx", "prices.tsv", 'delimiter: "\\t"', "mean_squared_error", 'Column "price" is learned because it is the last one')
    table(inside("headless.csv"), [51, 35, 14, 2, "setosa"], lambda i: [52 + i, 36, 15, 3 + i % 5, flowers[i % 3]])
    drafts(folder, "three.onnx", "headless.csv", 'The columns\' names, "51", "35" .., are numbers: a table needs a header row',
           "# values from 3 to 251")
    table(inside("numbered.csv"), [0, 1, 2, 3, "class"], lambda i: [1, 2, i % 3, 0, i % 3])
    drafts(folder, "three.onnx", "numbered.csv", "Guesses say so; `gradc check` describes the job.\nmodel:")
    table(inside("yes.csv"), ["a", "b", "label"], lambda i: [0.5, i % 2, i % 2], delimiter=";")
    drafts(folder, "one.onnx", "yes.csv", 'delimiter: ";"', "binary_cross_entropy", "if these are amounts, mean_squared_error")
    table(inside("booleans.csv"), ["a", "member", "left"], lambda i: [0.5, "" if i == 3 else i % 2 == 0, str(i % 3 == 0).lower()])
    drafts(folder, "one.onnx", "booleans.csv", 'column: "a"  column: "member"  fill: MEDIAN', 'column: "left"  categories {}',
           "2 different texts, one score a row")
    table(inside("counted.csv"), ["a", "b", "c", "d", "class"], lambda i: [1, 2, i % 3, 0, i % 3 + 1])
    drafts(folder, "three.onnx", "counted.csv", "offset: -1")
    # Columns "x[0]", "x[1]" and so on are the values of "x".
    table(inside("vectors.csv"), [*(f"x[{i}]" for i in range(4)), "class"], lambda i: [0.5, i % 2, 0.25, 1, i % 3])
    drafts(folder, "three.onnx", "vectors.csv", 'field { column: "x" }')
    table(inside("lists.csv"), ["class", "age", *(f"v[{i}]" for i in range(3))], lambda i: [i % 3, 0.5, i % 2, 0.25, 1])
    drafts(folder, "three.onnx", "lists.csv", 'field { name: "x"  column: "age"  column: "v" }')
    table(inside("narrow.csv"), ["x[0]", "x[1]", "v[0]", "v[1]", "class"], lambda i: [0.5, i % 2, 0.25, 1, i % 3])
    refuses(folder, inside("three.onnx"), inside("narrow.csv"), "column 'x' has lists of 2 numbers")
    # A pattern would also match the column without values.
    linear(inside("seven.onnx"), 7, 2)
    table(inside("hollow.csv"), [*(f"f{i}" for i in range(8)), "class"], lambda i: [*([0.5] * 7), "", i % 2])
    drafts(folder, "seven.onnx", "hollow.csv", 'column: "f0"  column: "f1"', 'column: "f6"')
    linear(inside("cities.onnx"), 1, 2, more=["city"])
    table(inside("cities.csv"), ["city", "age", "target"], lambda i: ["Bern" if i % 2 else "Zug", i % 9, i % 2])
    drafts(folder, "cities.onnx", "cities.csv", 'field { column: "city"  categories {} }')
    table(inside("quoted.csv"), ['"age, in ""years"""', "city", "target"], lambda i: [i % 9, '"the ""old"" town"' if i % 2 else '"new, so new"', i % 2])
    drafts(folder, "cities.onnx", "quoted.csv", 'field { name: "x"  column: "age, in \\"years\\""', 'field { column: "city"  categories {} }')
    linear(inside("fixed.onnx"), 2, 1, batch=16)
    drafts(folder, "fixed.onnx", "yes.csv", "size: 16  drop_remainder: true", "the model takes no other batch")
    # A fifth of these rows is no batch.
    table(inside("short.csv"), ["a", "b", "label"], lambda i: [0.5, i % 2, i % 2], rows=40)
    drafts(folder, "fixed.onnx", "short.csv", "fraction: 0.4  seed: 1", "a batch of the rows is for evaluation", "held_out: true")
    table(inside("shorter.csv"), ["a", "b", "label"], lambda i: [0.5, i % 2, i % 2], rows=30)
    refuses(folder, inside("fixed.onnx"), inside("shorter.csv"), "has 30 rows, expected enough for a batch of 16 and one for evaluation")
    # With rows that are skipped, a batch is left in either part.
    table(inside("holes.csv"), ["a", "b", "label"], lambda i: [0.5, i % 2, "" if i % 4 == 0 else i % 2], rows=60)
    drafts(folder, "fixed.onnx", "holes.csv", "on_error: SKIP", "fraction: 0.52  seed: 1")
    table(inside("more-holes.csv"), ["a", "b", "label"], lambda i: [0.5, i % 2, "" if i % 4 == 0 else i % 2], rows=40)
    refuses(folder, inside("fixed.onnx"), inside("more-holes.csv"), "has 40 rows, expected enough for a batch of 16 and one for evaluation")
    # Nothing can be learned from a row without a label.
    for name, labels in (("numbers", (0, 1)), ("texts", ("no", "yes"))):
        table(inside(f"{name}.csv"), ["a", "b", "label"], lambda i: [0.5, i % 2, "" if i % 9 == 0 else labels[i % 2]])
        drafts(folder, "one.onnx", f"{name}.csv", 'on_error: SKIP  # 23 rows without a value in "label"', "evaluation {\n  data {\n    on_error: SKIP\n")
    # Cells without a text are a category of their own.
    linear(inside("hot.onnx"), 3, 2)
    table(inside("hot.csv"), ["x", "label"], lambda i: [("a", "b", "")[i % 3], i % 2])
    drafts(folder, "hot.onnx", "hot.csv", "fill: CATEGORY  categories {}", 'map { field: "x"  one_hot {} }')

    refuses(folder, inside("one.onnx"), inside("flowers.csv"), 'feeds graph input "x" f32 [N, 2]', "it takes 2 numbers a row, and there are 4 columns",
            "species text")
    refuses(folder, inside("one.onnx"), inside("cities.csv"), "it takes 2 numbers a row, and there are 1 columns")
    half(inside("half.onnx"), [2])
    refuses(folder, inside("half.onnx"), inside("yes.csv"), 'feeds graph input "x" f16 [N, 2]', "columns of tables are not read as f16")
    linear(inside("four.onnx"), 2, 4)
    table(inside("far.csv"), ["a", "b", "label"], lambda i: [1, 2, i % 9])
    refuses(folder, inside("four.onnx"), inside("far.csv"), 'output "y" f32 [N, 4] and field label i64 []', "labels run from 0 to 8, expected 0 to 3")
    table(inside("few.csv"), ["a", "b", "label"], lambda i: [1, 2, i % 2], rows=3)
    refuses(folder, inside("one.onnx"), inside("few.csv"), "has 3 rows, expected enough for a batch of 4")


def arrays(folder):
    inside = lambda name: os.path.join(folder, name)
    drafts(folder, os.path.join(DIGITS, "mlp.onnx"), os.path.join(DIGITS, "digits.npz"), "cast: F32  scale: 0.0625", 'stratify: "labels"',
           'feed { input: "x"  field: "images" }')
    os.mkdir(inside("uneven"))
    write_npy(inside("uneven/x.npy"), array.array("f", [0.5] * 1280), (20, 8, 8))
    write_npy(inside("uneven/labels.npy"), array.array("q", [1] * 19), (19,))
    with zipfile.ZipFile(inside("uneven.npz"), "w") as archive:
        for name in ("x.npy", "labels.npy"):
            archive.write(inside(f"uneven/{name}"), name)
    for data in ("uneven", "uneven.npz"):
        refuses(folder, os.path.join(DIGITS, "mlp.onnx"), inside(data), "differ in their rows", "'x' has 20", "'labels' has 19")
    # A file that no field comes from may have any number of rows.
    os.mkdir(inside("spare"))
    write_npy(inside("spare/x.npy"), array.array("f", [0.5] * 1280), (20, 8, 8))
    write_npy(inside("spare/labels.npy"), array.array("q", [i % 2 for i in range(20)]), (20,))
    write_npy(inside("spare/zoom.npy"), array.array("f", [1, 2]), (2,))
    drafts(folder, os.path.join(DIGITS, "mlp.onnx"), "spare", "batch { size: 8 }", 'stratify: "labels"')
    # The data give the length of sequences that the model leaves open, also the output's if that has the same name.
    os.mkdir(inside("sequences"))
    write_npy(inside("sequences/ids.npy"), array.array("q", [i % 5 for i in range(240)]), (40, 6))
    write_npy(inside("sequences/labels.npy"), array.array("q", [i % 3 for i in range(240)]), (40, 6))
    tokens(inside("tokens.onnx"), "T")
    drafts(folder, "tokens.onnx", "sequences", 'softmax_cross_entropy { logits: "y"  labels: "labels" }', "labels from 0 to 2, 3 scores a row")
    # Exporters give dims of outputs names of their own.
    tokens(inside("renamed.onnx"), "U")
    drafts(folder, "renamed.onnx", "sequences", 'softmax_cross_entropy { logits: "y"  labels: "labels" }', "labels from 0 to 2, 3 scores a row")
    # Labels of positions that do not count, as PyTorch marks them; other negative labels are none.
    os.mkdir(inside("padded"))
    write_npy(inside("padded/ids.npy"), array.array("q", [i % 5 for i in range(240)]), (40, 6))
    write_npy(inside("padded/labels.npy"), array.array("q", [-100 if i % 6 > 3 else i % 3 for i in range(240)]), (40, 6))
    drafts(folder, "tokens.onnx", "padded", 'softmax_cross_entropy { logits: "y"  labels: "labels"  ignore_index: -100 }',
           'accuracy { logits: "y"  labels: "labels"  ignore_index: -100 }', "labels from 0 to 2, -100 where there is none, 3 scores a row")
    write_npy(inside("padded/labels.npy"), array.array("q", [(-100, -1, 2)[i % 3] for i in range(240)]), (40, 6))
    refuses(folder, inside("tokens.onnx"), inside("padded"), "labels run from -100 to 2, expected 0 to 2")
    tokens(inside("unknown.onnx"), "U", op="Mystery")
    refuses(folder, inside("unknown.onnx"), inside("sequences"), 'no loss fits output "y" f32 [N, ?, 3] and field labels i64 [6]',
            "the model does not say the output's size; onnx.shape_inference may find it")
    half(inside("half.onnx"), [8, 8])
    refuses(folder, inside("half.onnx"), os.path.join(DIGITS, "digits.npz"), 'feeds graph input "x" f16 [N, 8, 8]', 'field "images" cannot be cast to f16')
    linear(inside("wide.onnx"), 5, 10)
    refuses(folder, inside("wide.onnx"), os.path.join(DIGITS, "digits.npz"), 'graph input "x" f32 [N, 5]', "images u8 [8, 8], labels")


def pictures(folder):
    for index in range(30):
        picture(os.path.join(folder, "pictures", ("dark", "light")[index % 2], f"{index}.png"), 200 * (index % 2) + NUMBERS.randrange(50))
    linear(os.path.join(folder, "first.onnx"), (3, 4, 4), 2)
    drafts(folder, "first.onnx", "pictures", "normalize {}", "resize { height: 4  width: 4 }", 'stratify: "label"')
    linear(os.path.join(folder, "last.onnx"), (4, 4, 3), 1)
    drafts(folder, "last.onnx", "pictures", "binary_cross_entropy")
    linear(os.path.join(folder, "flat.onnx"), 48, 2)
    refuses(folder, os.path.join(folder, "flat.onnx"), os.path.join(folder, "pictures"), "pictures of 2 classes")


for draft in tables, arrays, pictures:
    draft(scratch())
