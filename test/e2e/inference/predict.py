"""Trained programs predict: classes and scores, or values, for rows from each kind of file, prepared as in evaluation.

    predict.py ROOT
"""
import array
import csv
import io
import math
import os
import random
import shutil
import subprocess
import sys
import zipfile

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/e2e"), os.path.join(ROOT, "test")]
from case import folder, path
from bar import compile_spec, events, gradc, program, read_npy, run, write_npy
from onnx_writer import FLOAT, INT64, Model

DIGITS = os.path.join(ROOT, "examples/digits")


def table(text):
    return list(csv.DictReader(io.StringIO(text)))


def predictions(trainer, data, *options):
    run(trainer, "predict", "--data", data, "-o", path("out.csv"), *options, cwd=folder)
    with open(path("out.csv")) as file:
        return table(file.read())


def refused(code, message, *command):
    done = subprocess.run([str(part) for part in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert done.returncode == code and message in done.stderr, (command, done.returncode, done.stderr)
    assert not os.path.exists(path("refused.csv")) and not os.path.exists(path("refused.csv.tmp")), command


def classes():
    """Digits: the evaluation's results, row by row, for any number of rows in every kind of file."""
    shutil.copy(os.path.join(DIGITS, "mlp.onnx"), folder)
    with zipfile.ZipFile(os.path.join(DIGITS, "digits.npz")) as archive:
        shape, images = read_npy(archive.read("images.npy"))
        _, labels = read_npy(archive.read("labels.npy"))
    trainer = compile_spec(os.path.join(DIGITS, "train.textproto"), folder)
    said = run(trainer, "--checkpoint", "run", "--epochs", 2, "--log", path("log.jsonl"), "--export", path("digits.onnx"), cwd=folder)
    assert f"use it: {trainer} predict --checkpoint run --data FILE" in said, said
    last = events(path("log.jsonl"), "eval")[-1]

    weights = ["--checkpoint", path("run")]
    rows = predictions(trainer, os.path.join(DIGITS, "digits.npz"), *weights)
    assert len(rows) == shape[0] and list(rows[0])[:4] == ["row", "class", "score", "score_0"], rows[0]
    right = [int(row["class"]) == label for row, label in zip(rows, labels)]
    accuracy = sum(right[::5]) / len(right[::5])
    assert abs(accuracy - last["accuracy"]) < 1e-6, (accuracy, last)
    for row in rows[::97]:
        scores = [float(row[f"score_{i}"]) for i in range(10)]
        assert abs(sum(scores) - 1) < 1e-5 and max(scores) == float(row["score"]) == scores[int(row["class"])], row
    loss = -sum(math.log(float(row[f"score_{label}"])) for row, label in list(zip(rows, labels))[::5]) / len(right[::5])
    assert abs(loss - last["loss"]) < 1e-4, (loss, last)

    # Without labels, for any number of rows (one included), with numbers of any type.
    for count in (1, 33):
        write_npy(path("x.npy"), array.array("f", images[:count * 64]), (count, 8, 8))
        assert predictions(trainer, path("x.npy"), *weights) == rows[:count], count
        with open(path("x.csv"), "w") as file:
            file.write(",".join(f"pixel{i}" for i in range(64)) + "\n")
            for row in range(count):
                file.write(",".join(map(str, images[row * 64:row * 64 + 64])) + "\n")
        assert predictions(trainer, path("x.csv"), *weights) == rows[:count], count
    assert table(run(trainer, "predict", *weights, "--data", path("x.csv"))) == rows[:33]

    # The tool does the same with a spec, and with an artifact next to its checkpoint.
    spec = os.path.join(DIGITS, "train.textproto")
    for command in ((spec, "--checkpoint", path("run")), (trainer, path("run/best.ckpt"))):
        assert table(gradc("predict", *command, "--data", path("x.csv"))) == rows[:33], command

    said = run(trainer, "evaluate", *weights)
    assert f"evaluation of 360 rows with the weights of '{path('run')}/best.ckpt': loss {last['loss']:.4f}" in said, said
    said = gradc("evaluate", trainer, path("run"), "--data", os.path.join(DIGITS, "digits.npz"))
    assert "evaluation of 1797 rows" in said and f"accuracy {sum(right) / len(right):.4f}" in said, (said, sum(right))

    out = ["-o", path("refused.csv")]
    refused(2, "expected --data FILE", trainer, "predict")
    refused(2, "unknown option '--steps'", trainer, "predict", "--steps", 3)
    refused(1, "cannot find data file 'nowhere.csv'", trainer, "predict", "--data", "nowhere.csv", *out)
    refused(1, "rows of shape [63]", trainer, "predict", "--data", narrow(), *out)
    os.mkdir(path("others"))
    shutil.copy(path("x.npy"), path("others/0.npy"))
    refused(1, "the folder 'others' holds no 'images.npy', and the job decodes no pictures", trainer, "predict", "--data", "others", *out)
    with open(path("0.png"), "wb") as file:
        file.write(b"\x89PNG\r\n")
    refused(1, "'0.png' is a picture, and the job decodes none", trainer, "predict", "--data", "0.png", *out)
    refused(1, "give an .npz archive", trainer, "evaluate", "--data", path("x.npy"))
    refused(2, "a checkpoint holds weights alone: expected gradc predict SPEC|ARTIFACT --checkpoint",
            program("gradc"), "predict", path("run"), "--data", path("x.csv"))
    refused(2, "gradc compile it first", program("gradc"), "predict", path("mlp.onnx"), "--data", path("x.csv"))
    return accuracy


def narrow():
    write_npy(path("narrow.npy"), array.array("f", [0] * 126), (2, 63))
    return path("narrow.npy")


def values():
    """A standardized table: the values are those of the training, whether or not the export prepares fields itself."""
    model = Model("line", opset=17)
    x = model.input("x", FLOAT, ["N", 2])
    weight, bias = model.initializer("w", FLOAT, [2, 1], [0.5, -0.25]), model.initializer("b", FLOAT, [1], [0.0])
    model.node("Gemm", [x, weight, bias], ["y"], "line")
    model.output("y", FLOAT, ["N", 1])
    model.save(path("line.onnx"))
    numbers = random.Random(3)
    points = [(numbers.gauss(1e5, 300), numbers.gauss(0, 1e-3)) for _ in range(70)]
    with open(path("train.csv"), "w") as file:
        file.write("height,width,price\n" + "".join(f"{a},{b},{a / 100 - 1000 + 2000 * b}\n" for a, b in points))
    with open(path("new.csv"), "w") as file:
        file.write("width,height\n" + "".join(f"{b},{a}\n" for a, b in points[:11]))
    found = []
    for name, export in ("plain", ""), ("prepares", "export { preprocessing: true }"):
        with open(path(name + ".textproto"), "w") as file:
            file.write(f"""
model: "line.onnx"  feed {{ input: "x" field: "size" }}
loss {{ mean_squared_error {{ predictions: "y" targets: "price" }} }}
optimizer {{ sgd {{ learning_rate: 0.1 }} }}
data {{ source {{ csv {{ path: "train.csv" field {{ name: "size" column: "height" column: "width" }}
                    field {{ name: "price" column: "price" shape: 1 }} }} }}
  stage {{ map {{ field: "size" standardize {{}} }} }} stage {{ shuffle {{}} }} stage {{ batch {{ size: 10 }} }} }}
epochs: 30  checkpoint {{ directory: "{name}.run" }}  {export}
""")
        trainer = compile_spec(path(name + ".textproto"), folder)
        refused(1, "name a checkpoint of the training", trainer, "predict", "--data", "new.csv", "-o", path("refused.csv"))
        run(trainer, "--quiet", cwd=folder)
        rows = predictions(trainer, "new.csv")  # with the newest of the spec's own runs
        for row, (a, b) in zip(rows, points):
            assert abs(float(row["value"]) - (a / 100 - 1000 + 2000 * b)) < 0.2, (row, a, b)
        found.append(rows)
    assert found[0] == found[1], (found[0][0], found[1][0])
    with open(path("bad.csv"), "w") as file:
        file.write("width,height\n0,100000\n0,inf\n")
    refused(1, "cannot predict: row 1 (from 0) of 'bad.csv', field 'size', has inf, expected a finite number",
            trainer, "predict", "--data", "bad.csv", "-o", path("refused.csv"))
    # A full disk ends it before the other rows, of which the last one cannot be predicted.
    with open(path("long.csv"), "w") as file:
        file.write("width,height\n" + "0,100000\n" * 40000 + "0,inf\n")
    refused(1, "File too large", "sh", "-c", 'ulimit -f 64; exec "$@"', "sh", trainer, "predict", "--data", "long.csv", "-o", path("refused.csv"))
    refused(3, "the spec has no evaluation block", trainer, "evaluate")
    shutil.copy(path("new.csv"), path("mine.csv"))
    for output, reason in ("mine.csv", "the run reads it"), ("train.csv", "which the run reads"), (trainer, "it is this program"):
        before = open(os.path.join(folder, output), "rb").read()
        refused(1, reason, trainer, "predict", "--data", "mine.csv", "-o", output)
        assert open(os.path.join(folder, output), "rb").read() == before, output
    refused(1, "cannot write", trainer, "predict", "--data", "new.csv", "-o", "no/such/folder.csv")
    os.mkdir(path("tables"))
    refused(1, "'tables' is a folder or a picture, expected a table", trainer, "predict", "--data", "tables", "-o", path("refused.csv"))
    split = held_out()
    assert [row["value"] for row in predictions(split, "new.csv")] == [row["value"] for row in predictions(split, "turned.csv")]


def arrays():
    """A folder has a file for each field, with the names of the job's files."""
    points = [(i % 7 - 3.0, i % 5 - 2.0) for i in range(70)]
    for name, rows in ("learned", points), ("given", points[:11]):
        os.mkdir(path(name))
        write_npy(os.path.join(path(name), "x-1.npy"), array.array("f", [number for row in rows for number in row]), [len(rows), 2])
    write_npy(path("learned/price.npy"), array.array("f", [a - 2 * b for a, b in points]), [len(points), 1])
    with open(path("arrays.textproto"), "w") as file:
        file.write("""
model: "line.onnx"  loss { mean_squared_error { predictions: "y" targets: "price" } }  optimizer { sgd { learning_rate: 0.1 } }
data { source { npy { field { name: "x" path: "learned/x-1.npy" } field { name: "price" path: "learned/price.npy" } } }
  stage { batch { size: 10 } } }
epochs: 30  checkpoint { directory: "arrays.run" }
""")
    trainer = compile_spec(path("arrays.textproto"), folder)
    run(trainer, "--quiet", cwd=folder)
    for data in "given", "given/":
        assert all(abs(float(row["value"]) - (a - 2 * b)) < 1e-2 for row, (a, b) in zip(predictions(trainer, data), points))
    assert len(predictions(trainer, "given")) == 11
    refused(1, "which the run reads", trainer, "predict", "--data", "given", "-o", path("given/x-1.npy"))
    os.remove(path("given/x-1.npy"))
    refused(1, "cannot find data file 'given/x-1.npy'", trainer, "predict", "--data", "given", "-o", path("refused.csv"))


def held_out():
    """The columns are the job's, in its order, even if its source holds out rows."""
    with open(path("new.csv")) as file, open(path("turned.csv"), "w") as turned:
        for line in file:
            turned.write(",".join(reversed(line.rstrip().split(","))) + "\n")
    with open(path("plain.textproto")) as file:
        spec = file.read().replace("plain.run", "split.run").replace("shape: 1 } }", "shape: 1 } } split { fraction: 0.2 }")
    assert "split {" in spec
    with open(path("split.textproto"), "w") as file:
        file.write(spec)
    trainer = compile_spec(path("split.textproto"), folder)
    run(trainer, "--quiet", cwd=folder)
    return trainer


def elsewhere():
    """Evaluation writes nothing: it does not need the folder of a spec's export, which is gone."""
    away = path("away")
    shutil.copytree(DIGITS, away)
    trainer = compile_spec(os.path.join(away, "train.textproto"), folder)
    shutil.rmtree(away)
    data = os.path.join(DIGITS, "digits.npz")
    assert "evaluation of 1797 rows with" in run(trainer, "evaluate", "--checkpoint", path("run"), "--data", data, cwd=folder)
    refused(1, "is not on this machine", trainer, "--data-dir", DIGITS, "--steps", 1)


def binary():
    """Scores of two classes, whether the model ends in logits or in their sigmoid; evaluation filters rows, prediction does not."""
    points = [(i % 7 - 3.0, i % 5 - 2.0) for i in range(50)]
    with open(path("binary.csv"), "w") as file:
        file.write("a,b,is,use\n" + "".join(f"{a},{b},{int(a + b > 0.5)},{i % 2}\n" for i, (a, b) in enumerate(points)))
    found = []
    for name in "logits", "sigmoid":
        model = Model(name, opset=17)
        x, weight = model.input("x", FLOAT, ["N", 2]), model.initializer("w", FLOAT, [2, 1], [0.1, 0.2])
        bias = model.initializer("b", FLOAT, [1], [0.0])
        y = model.node("Gemm", [x, weight, bias], ["p" if name == "logits" else "score"], "gemm")
        if name == "sigmoid":
            model.node("Sigmoid", [y], ["p"], "sigmoid")
        model.output("p", FLOAT, ["N", 1])
        model.save(path(name + ".onnx"))
        source = """source { csv { path: "binary.csv" field { name: "x" column: "a" column: "b" }
            field { name: "is" column: "is" shape: 1 } field { name: "use" column: "use" } } }
            stage { filter { field: "use" only: 1 } } stage { batch { size: 5 } }"""
        with open(path(name + ".textproto"), "w") as file:
            file.write(f"""
model: "{name}.onnx"  loss {{ binary_cross_entropy {{ logits: "p" targets: "is" }} }}
optimizer {{ sgd {{ learning_rate: 0.5 }} }}  data {{ {source} }}  evaluation {{ data {{ {source} }} }}
epochs: 20  checkpoint {{ directory: "{name}.run" }}
""")
        trainer = compile_spec(path(name + ".textproto"), folder)
        run(trainer, "--quiet", "--log", path(name + ".jsonl"), cwd=folder)
        rows = predictions(trainer, "binary.csv")
        assert list(rows[0]) == ["row", "class", "score"] and len(rows) == len(points), rows[0]
        assert all((float(row["score"]) > 0.5) == (row["class"] == "1") for row in rows)
        best = events(path(name + ".jsonl"), "best")[-1]["value"]
        assert f"evaluation of 25 rows with the weights of '{folder}/{name}.run/best.ckpt': loss {best:.4f}" in run(trainer, "evaluate")
        assert f"evaluation of 25 rows with" in run(trainer, "evaluate", "--data", path("binary.csv"))
        found.append([float(row["score"]) for row in rows])
    assert max(abs(a - b) for a, b in zip(*found)) < 1e-5
    assert sum((score > 0.5) == (a + b > 0.5) for score, (a, b) in zip(found[0], points)) > 45


def counted_from_one():
    """Labels from 1, which a map turns into classes from 0, are predicted as they are in the data."""
    with open(path("kinds.csv"), "w") as file:
        file.write("a,b,kind\n" + "".join(f"{int(i % 3 == 1)},{int(i % 3 == 2)},{i % 3 + 1}\n" for i in range(60)))
    model = Model("kinds", opset=17)
    x, weight = model.input("x", FLOAT, ["N", 2]), model.initializer("w", FLOAT, [2, 3], [0.1, 0.2, 0.3, 0.3, 0.2, 0.1])
    model.output(model.node("Gemm", [x, weight, model.initializer("b", FLOAT, [3], [0.0] * 3)], ["y"], "gemm"), FLOAT, ["N", 3])
    model.save(path("kinds.onnx"))
    with open(path("kinds.textproto"), "w") as file:
        file.write("""
model: "kinds.onnx"  loss { softmax_cross_entropy { logits: "y" labels: "kind" } }  optimizer { adam { learning_rate: 0.1 } }
data {
  source { csv { path: "kinds.csv" field { name: "x" column: "a" column: "b" } field { column: "kind" dtype: I64 } } }
  stage { map { field: "kind" cast: I64 offset: -1 } }  stage { batch { size: 10 } }
}
epochs: 30  checkpoint { directory: "kinds.run" }
""")
    trainer = compile_spec(path("kinds.textproto"), folder)
    run(trainer, "--quiet", cwd=folder)
    rows = predictions(trainer, "kinds.csv")
    assert list(rows[0]) == ["row", "class", "score", "score_1", "score_2", "score_3"], rows[0]
    assert [row["class"] for row in rows] == [str(i % 3 + 1) for i in range(60)], rows


def fixed_batches():
    """A model with a fixed batch size: the last rows are padded, and the padding is removed from the results; rows that depend on each
    other are not padded."""
    model = Model("fixed", opset=17)
    x = model.input("x", FLOAT, [4, 2, 3])
    shape = model.initializer("shape", INT64, [2], [4, 6])
    flat = model.node("Reshape", [x, shape], ["flat"], "reshape")
    weight = model.initializer("w", FLOAT, [6, 6], [float(i == j) for i in range(6) for j in range(6)])
    model.node("MatMul", [flat, weight], ["y"], "product")
    model.output("y", FLOAT, [4, 6])
    model.save(path("fixed.onnx"))
    model = Model("coupled", opset=17)
    x = model.input("x", FLOAT, ["N", 6])
    mean = model.node("ReduceMean", [x], ["mean"], "mean", axes=[0])
    model.node("Sub", [x, mean], ["y"], "sub")
    model.output("y", FLOAT, ["N", 6])
    model.save(path("coupled.onnx"))
    values = array.array("f", range(36))
    write_npy(path("six.npy"), values, (6, 2, 3))
    write_npy(path("flat.npy"), values, (6, 6))
    gradc("compile", path("fixed.onnx"), "-o", path("fixed"))
    refused(3, "export it with a dynamic batch", path("fixed"), "predict", "--data", "six.npy")
    with open(path("fixed.textproto"), "w") as file:
        file.write("""model: "fixed.onnx"  loss { mean_squared_error { predictions: "y" targets: "t" } }  optimizer { sgd { learning_rate: 0.1 } }
data { source { npy { field { name: "x" path: "six.npy" } field { name: "t" path: "flat.npy" } } } stage { batch { size: 4 drop_remainder: true } } }
""")
    rows = predictions(compile_spec(path("fixed.textproto"), folder), "six.npy")
    assert [float(row[f"value_{i}"]) for row in rows for i in range(6)] == list(values), rows
    gradc("compile", path("coupled.onnx"), "--shape", "x=4x6", "-o", path("coupled"))
    refused(1, "couples rows, so they must be one batch of 4", path("coupled"), "predict", "--data", "flat.npy")


def pictures():
    """The names of class folders, for pictures in a folder without classes, and for a single picture."""
    source = os.path.join(ROOT, "examples/pictures")
    shutil.copy(os.path.join(source, "cnn.onnx"), folder)
    shutil.copy(os.path.join(source, "train.textproto"), path("cnn.textproto"))
    run(sys.executable, os.path.join(source, "make_pictures.py"), path("pictures"), "--count", 20)
    names = sorted(os.listdir(path("pictures")))
    trainer = compile_spec(path("cnn.textproto"), folder)
    shutil.rmtree(path("run"))
    run(trainer, "--quiet", "--epochs", 4, "--log", path("cnn.jsonl"), cwd=folder)
    inside = predictions(trainer, "pictures")
    assert [name[6:] for name in inside[0] if name.startswith("score_")] == names, inside[0]
    flat = path("flat")
    os.mkdir(flat)
    for number, row in enumerate(inside):
        assert os.path.exists(os.path.join(folder, row["file"])) and row["class"] in names, row
        shutil.copy(os.path.join(folder, row["file"]), os.path.join(flat, f"{number:04}.jpg"))
    outside = predictions(trainer, flat)
    assert [row["file"] for row in outside] == [f"{flat}/{number:04}.jpg" for number in range(len(inside))]
    assert [row | {"file": 0} for row in outside] == [row | {"file": 0} for row in inside]
    assert predictions(trainer, f"{flat}/0000.jpg") == outside[:1]

    # Evaluation numbers classes like training, even if some are missing; other classes are errors.
    shutil.rmtree(os.path.join(folder, "pictures", names[0]))
    labels = {row["file"]: row["file"].split("/")[1] for row in inside if names[0] not in row["file"].split("/")}
    right = sum(row["class"] == labels[row["file"]] for row in inside if row["file"] in labels)
    said = run(trainer, "evaluate", "--data", "pictures", cwd=folder)
    assert f"evaluation of {len(labels)} rows" in said and f"accuracy {right / len(labels):.4f}" in said, (said, right / len(labels))
    os.rename(os.path.join(folder, "pictures", names[1]), os.path.join(folder, "pictures", "other"))
    refused(1, "has a class 'other', expected those of the training data", trainer, "evaluate", "--data", "pictures")
    return right / len(labels)


def model_alone():
    """Without a spec, an executable gives the model's outputs; numbers are cast to the types of its inputs."""
    trainer = path("mlp")
    gradc("compile", path("mlp.onnx"), "--shape", "x=16x8x8", "-o", trainer)
    values = array.array("q", [number % 17 for number in range(20 * 64)])
    write_npy(path("whole.npy"), values, (20, 8, 8))
    write_npy(path("whole_f4.npy"), array.array("f", values), (20, 8, 8))
    rows = predictions(trainer, "whole.npy")
    gradc("run", trainer, "--input", f"x={path('whole_f4.npy')}", "--output-dir", folder)
    with open(path("logits.npy"), "rb") as file:
        _, logits = read_npy(file.read())
    assert len(rows) == 20 and list(rows[0]) == ["row", *(f"value_{i}" for i in range(10))], rows[0]
    for row in (0, 15, 16, 19):
        got = [float(rows[row][f"value_{i}"]) for i in range(10)]
        assert all(abs(a - b) <= 1e-6 * max(map(abs, logits)) for a, b in zip(got, logits[row * 10:])), row
    refused(3, "compiled without a training spec", trainer, "--steps", 3)
    refused(1, "cannot tell what kind of data", trainer, "predict", "--data", "mlp.onnx", "-o", path("refused.csv"))


def integers():
    """Integers of 64 bits have all their digits, also those that no double holds."""
    model = Model("integers", opset=17)
    x, one = model.input("x", INT64, ["N", 1]), model.initializer("one", INT64, [1], [1])
    model.node("Add", [x, one], ["y"], "add")
    model.output("y", INT64, ["N", 1])
    model.save(path("integers.onnx"))
    gradc("compile", path("integers.onnx"), "--shape", "x=4x1", "-o", path("integers"))
    values = [7, 2**53, 2**62 + 2, -2**63]
    write_npy(path("integers.npy"), array.array("q", values), (4, 1))
    rows = predictions(path("integers"), "integers.npy")
    assert [row["value"] for row in rows] == [str(value + 1) for value in values], rows


def padded():
    """A mask and a length that `pad` makes are in no file: whatever else is the input may be one array, or a table of any columns."""
    model = Model("padded", opset=17)
    mask, length, x = model.input("mask", FLOAT, ["N", 4]), model.input("length", INT64, ["N"]), model.input("x", FLOAT, ["N", 4])
    counted = model.node("Unsqueeze", [model.node("Cast", [length], ["count"], "cast", to=FLOAT), model.initializer("axes", INT64, [1], [1])], ["column"], "column")
    shifted = model.node("Add", [model.node("Mul", [x, mask], ["masked"], "mul"), counted], ["shifted"], "shift")
    model.node("Mul", [shifted, model.initializer("w", FLOAT, [1], [1.0])], ["y"], "scale")
    model.output("y", FLOAT, ["N", 4])
    model.save(path("padded.onnx"))
    values = array.array("f", range(6))
    for name in ("x", "t"):
        write_npy(path(f"{name}.npy"), values, (2, 3))
    with zipfile.ZipFile(path("padded.npz"), "w") as archive:
        for name in ("x", "t"):
            archive.write(path(f"{name}.npy"), f"{name}.npy")
    os.makedirs(path("arrays_of_rows"))
    shutil.copy(path("x.npy"), path("arrays_of_rows"))
    with open(path("padded.csv"), "w") as file:
        file.write("a,b,c,d\n0,1,2,7\n3,4,5,7\n")
    with open(path("padded.textproto"), "w") as file:
        file.write('model: "padded.onnx"  loss { mean_squared_error { predictions: "y"  targets: "t" } }  optimizer { sgd { learning_rate: 1e-9 } }\n'
                   'data { source { npz { path: "padded.npz" } } stage { map { field: "x"  pad { shape: 4  value: 9  mask: "mask"  length: "length" } } }\n'
                   'stage { map { field: "t"  pad { shape: 4 } } } stage { batch { size: 2 } } }\n')
    trainer = compile_spec(path("padded.textproto"), folder)
    run(trainer, "--checkpoint", "padded-run", cwd=folder)
    short, whole = [[3, 4, 5, 3], [6, 7, 8, 3]], [[4, 5, 6, 11], [7, 8, 9, 11]]
    for data, wanted in ("padded.npz", short), ("x.npy", short), ("arrays_of_rows", short), ("padded.csv", whole):
        rows = predictions(trainer, data, "--checkpoint", "padded-run")
        assert [[round(float(row[f"value_{i}"]), 4) for i in range(4)] for row in rows] == wanted, (data, rows)


def noise():
    """A model that samples draws numbers of its own for each batch, and the same again in the next run, by whichever command."""
    model = Model("noise", opset=17)
    x, weight = model.input("x", FLOAT, ["N", 3]), model.initializer("w", FLOAT, [3], [1.0] * 3)
    drawn = model.node("RandomNormalLike", [x], ["drawn"], "draw")
    model.node("Add", [x, model.node("Mul", [drawn, weight], ["scaled"], "scale")], ["y"], "add")
    model.output("y", FLOAT, ["N", 3])
    model.save(path("noise.onnx"))
    write_npy(path("zeros.npy"), array.array("f", [0] * 33), (11, 3))
    with open(path("noise.textproto"), "w") as file:
        source = 'source { npy { field { name: "x" path: "zeros.npy" } field { name: "t" path: "zeros.npy" } } } stage { batch { size: 4 } }'
        file.write('model: "noise.onnx"  loss { mean_squared_error { predictions: "y" targets: "t" } }  optimizer { sgd { learning_rate: 0.1 } }\n'
                   f"data {{ {source} }}  evaluation {{ data {{ {source} }} }}\n")
    trainer = compile_spec(path("noise.textproto"), folder)
    rows = predictions(trainer, "zeros.npy")
    numbers = [float(row[f"value_{i}"]) for row in rows for i in range(3)]
    assert len(set(numbers)) == 33 and predictions(trainer, "zeros.npy") == rows, rows
    loss = sum(number**2 for number in numbers) / 33
    for _ in range(2):
        said = run(trainer, "evaluate", cwd=folder)
        assert abs(float(said.rsplit("loss ", 1)[1]) - loss) < 1e-4, (said, loss)

    gradc("compile", path("noise.onnx"), "--shape", "x=4x3", "-o", path("noisy"))
    assert predictions(path("noisy"), "zeros.npy") == rows
    gradc("run", path("noisy"), "--input", f"x={path('zeros.npy')}", "--output-dir", folder)
    with open(path("y.npy"), "rb") as file:
        assert max(abs(a - b) for a, b in zip(read_npy(file.read())[1], numbers)) < 1e-6


accuracy = classes()
elsewhere()
values()
arrays()
binary()
counted_from_one()
fixed_batches()
share = pictures()
model_alone()
integers()
padded()
noise()
print(f"predict: digits {accuracy:.3f}, pictures {share:.3f}")
