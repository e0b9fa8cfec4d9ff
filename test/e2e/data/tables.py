"""Trains on the same people from differently written files, and checks which texts artifact, checkpoint, and export contain.

    tables.py
"""
import array
import csv
import gzip
import io
import json
import os
import random
import struct
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bars"))
from bar import compile_spec, events, gradc, program, run, scratch
from onnx_writer import FLOAT, Model, metadata

CITIES = ["Basel", "Bern", "Genf, \"old\"", "Zug"]
ROWS = 300


def write_model(path):
    numbers = random.Random(1)
    model = Model("people", opset=17)
    x, city = model.input("numbers", FLOAT, ["N", 2]), model.input("city", FLOAT, ["N", len(CITIES)])
    weights = [model.initializer(name, FLOAT, dims, [numbers.gauss(0, 0.3) for _ in range(dims[0] * (dims + [1])[1])])
               for name, dims in (("fc.weight", [2, 2]), ("fc.bias", [2]), ("city.weight", [len(CITIES), 2]))]
    own = model.node("Gemm", [x, *weights[:2]], ["own"], "fc")
    model.output(model.node("Add", [own, model.node("MatMul", [city, weights[2]], ["of_city"], "city")], ["logits"], "add"),
                 FLOAT, ["N", 2])
    model.save(path)


def people():
    """Rows as texts: age (some missing), income, city, and whether they answered, which depends on city and age."""
    numbers = random.Random(2)
    for row in range(ROWS):
        city, age = numbers.choice(CITIES), numbers.randrange(20, 80)
        answered = "yes" if age + 25 * (city in CITIES[:2]) > 60 else "no"
        yield "" if row % 10 == 3 else str(age), str(numbers.randrange(30, 90) * 1000), city, answered


def write_table(path, rows, opened=open):
    quote = lambda cell: '"' + cell.replace('"', '""') + '"' if "," in cell or '"' in cell else cell
    with opened(path, "wt") as file:
        file.write("age,income,city,answered\n")
        file.writelines(",".join(map(quote, row)) + "\n" for row in rows)


SOURCE = """source {
    csv {
      path: "PATH"
      field { name: "numbers"  column: "age"  column: "income"  fill: MEDIAN }
      field { column: "city"  categories {} }
      field { column: "answered"  categories {} }
    }
    split { fraction: 0.2  seed: 1  stratify: "answered" HELD }
  }
  stage { map { field: "numbers"  standardize {} } }
  stage { map { field: "city"  one_hot {} } }
  stage { batch { size: 20 } }"""
SPEC = """model: "people.onnx"
loss { softmax_cross_entropy { logits: "logits"  labels: "answered" } }
metric { accuracy { logits: "logits"  labels: "answered" } }
optimizer { adam { learning_rate: 0.05 } }
data { TRAINED }
evaluation { data { EVALUATED } }
epochs: 30
checkpoint { directory: "run" }
"""


def write_spec(folder, name, table):
    source = SOURCE.replace("PATH", table)
    path = os.path.join(folder, name)
    with open(path, "w") as file:
        file.write(SPEC.replace("TRAINED", source.replace("HELD", "")).replace("EVALUATED", source.replace("HELD", " held_out: true")))
    return path


def expect(holds, what):
    if not holds:
        sys.exit(what)


def fails(code, message, *command, **options):
    result = subprocess.run([str(part) for part in command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options)
    expect(result.returncode == code and message in result.stdout,
           f"expected exit code {code} and {message!r}, found {result.returncode}: {result.stdout}")


def texts():
    folder, rows = scratch(), list(people())
    inside = lambda name: os.path.join(folder, name)
    write_model(inside("people.onnx"))
    write_table(inside("people.csv"), rows)
    write_table(inside("people.csv.gz"), rows, gzip.open)
    spec = write_spec(folder, "plain.textproto", "people.csv")
    checked = gradc("check", spec)
    expect("data: 240 rows of 'people.csv', 2 classes; evaluation on 60 rows" in checked, checked)

    trainer = compile_spec(spec, folder)
    run(trainer, "--log", inside("log"), "--export", inside("plain.onnx"), "--quiet", cwd=folder)
    accuracy = events(inside("log"), "eval")[-1]["accuracy"]
    print(f"texts and gaps: {accuracy:.3f}", flush=True)
    expect(accuracy > 0.85, f"accuracy {accuracy}, expected more than 0.85")
    with open(inside("plain.onnx"), "rb") as file:
        kept = metadata(file.read())
    expect(json.loads(kept["gradc.categories.city"]) == CITIES and json.loads(kept["gradc.categories.answered"]) == ["no", "yes"], str(kept))
    expect("Bern" in gradc("inspect", trainer), "the artifact does not show its categories")

    predicted = list(csv.DictReader(io.StringIO(gradc("predict", spec, "--data", inside("people.csv")))))
    expect(list(predicted[0]) == ["row", "class", "score", "score_no", "score_yes"], str(predicted[0]))
    right = sum(line["class"] == row[3] for line, row in zip(predicted, rows, strict=True))
    expect(right > 0.85 * ROWS, f"{right} of {ROWS} predicted classes have the names of their labels")

    zipped = compile_spec(write_spec(folder, "zipped.textproto", "people.csv.gz"), folder)
    run(zipped, "--export", inside("zipped.onnx"), "--checkpoint", inside("zipped-run"), "--quiet", cwd=folder)
    same = [open(inside(name), "rb").read() for name in ("plain.onnx", "zipped.onnx")]
    expect(same[0] == same[1], "the compressed table trains to other bits")

    # A text that is not a category is reported; a job with other categories does not resume from the old states.
    write_table(inside("people.csv"), [*rows, ("30", "50000", "Chur", "no")] * 2)
    fails(1, "'Chur' in column 'city' is not one of the 4 categories of field 'city'; to read it as one more, write categories { unknown: 4 }",
          trainer, "--quiet", "--checkpoint", inside("other"), cwd=folder)
    write_table(inside("people.csv"), [("30", "50000", "Bern" if row[2] == "Zug" else "Chur" if row[2] == "Bern" else row[2], row[3]) for row in rows])
    again = compile_spec(spec, folder)
    fails(1, "field 'city' has other categories than the run that the states are from", again, "--resume", "--epochs", "31", "--quiet", cwd=folder)
    os.remove(inside("people.csv"))
    fails(3, "categories and fill values are found in the data to train on when the job is compiled", program("gradc"), "check", spec)


def held_out_texts():
    """A text that only occurs in held-out rows is reported when the job is compiled; `unknown` gives it a number."""
    folder, rows = scratch(), list(people())
    table, spec = os.path.join(folder, "people.csv"), write_spec(folder, "spec.textproto", "people.csv")
    write_model(os.path.join(folder, "people.onnx"))
    answers = {0: 0, 1: 0}
    for number in range(20):
        write_table(table, [row[:2] + ("Genf" if row[2] != "Bern" and i == number else row[2], row[3]) for i, row in enumerate(rows)])
        checked = subprocess.run([program("gradc"), "check", spec], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        found = "'Genf' of field 'city' is in no row that is trained on, but in others, held out or left out; " \
                "to read it as one more category, write categories { unknown: 4 }" in checked.stdout
        answers[int(found)] += 1
        if found:
            break
    expect(answers[1] == 1, f"no held-out row among {number + 1}")
    with open(spec) as file:
        text = file.read().replace('"city"  categories {}', '"city"  categories { unknown: 3 }')
    with open(spec, "w") as file:
        file.write(text)
    run(compile_spec(spec, folder), "--epochs", 2, "--quiet", cwd=folder)
    print(f"a text of held-out rows alone: row {number}", flush=True)


def bad_rows():
    """Rows that cannot be read end the run, or are left out: of categories and medians, of the held-out rows, of the batches."""
    folder, rows = scratch(), list(people())
    write_model(os.path.join(folder, "people.onnx"))
    bad = [("40", "much", "Bern", "no"), ("41",), ("42", "50000", "Chur", "no", "more")]
    write_table(os.path.join(folder, "people.csv"), [*rows[:7], *bad, *rows[7:]])
    spec = write_spec(folder, "spec.textproto", "people.csv")
    fails(3, "people.csv:9:4: expected a number of type f32 in column 'income', found 'much'", program("gradc"), "check", spec)
    with open(spec) as file:
        text = file.read().replace("stage { batch { size: 20 } }", "stage { batch { size: 20 } }  on_error: SKIP")
    with open(spec, "w") as file:
        file.write(text)
    log = os.path.join(folder, "log")
    said = run(compile_spec(spec, folder), "--log", log, cwd=folder)
    skipped = [event["message"] for event in events(log, "skip")]
    found = {line for line in (9, 10, 11) if any(f"people.csv:{line}:" in message for message in skipped)}
    expect(len(found) == len(skipped) == 2, f"two bad rows are in the batches, a third is held out: {skipped} {said}")
    # Small batches are handed over together; the first of them carries the messages of all.
    for size in (2, 5):
        with open(spec, "w") as file:
            file.write(text.replace("batch { size: 20 }", f"batch {{ size: {size} }}"))
        one = os.path.join(folder, f"log{size}")
        run(compile_spec(spec, folder), "--log", one, cwd=folder)
        lines = {line for line in (9, 10, 11) if any(f"people.csv:{line}:" in event["message"] for event in events(one, "skip"))}
        expect(lines == found, f"batches of {size} name the same bad rows: {lines}, {found}")
    accuracy = events(log, "eval")[-1]["accuracy"]
    print(f"bad rows left out: {accuracy:.3f}", flush=True)
    expect(accuracy > 0.85, f"accuracy {accuracy}, expected more than 0.85")


def write_npy(path, descr, shape, data, fortran=False):
    header = f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {tuple(shape)}, }}".ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00\x76\x00" + header.encode() + data)


def orders():
    """Rows of two numbers, and three kinds of labels, which all train to the same bits."""
    folder, numbers = scratch(), random.Random(3)
    inside = lambda name: os.path.join(folder, name)
    rows = [(numbers.random(), numbers.random()) for _ in range(64)]
    labels = [int(a > b) for a, b in rows]
    model = Model("line", opset=17)
    w = model.initializer("w", FLOAT, [2, 2], [0.1, -0.2, 0.3, 0.4])
    model.output(model.node("MatMul", [model.input("x", FLOAT, ["N", 2]), w], ["logits"], "fc"), FLOAT, ["N", 2])
    model.save(inside("line.onnx"))
    flat = [value for row in rows for value in row]
    columns = [row[i] for i in range(2) for row in rows]
    inputs = {"plain": ("<f4", struct.pack("<128f", *flat), False), "big": (">f4", struct.pack(">128f", *flat), False),
              "fortran": ("<f4", struct.pack("<128f", *columns), True), "both": (">f4", struct.pack(">128f", *columns), True)}
    targets = {"plain": ("<i8", (64,), array.array("q", labels).tobytes()), "bool": ("|b1", (64,), bytes(labels)),
               "column": ("<i8", (64, 1), array.array("q", labels).tobytes()), "big": (">i4", (64, 1), struct.pack(">64i", *labels))}
    for name, (descr, data, fortran) in inputs.items():
        write_npy(inside(f"x-{name}.npy"), descr, (64, 2), data, fortran)
    for name, (descr, shape, data) in targets.items():
        write_npy(inside(f"y-{name}.npy"), descr, shape, data)
    results = {}
    for x, y in [("plain", "plain"), ("big", "bool"), ("fortran", "column"), ("both", "big")]:
        spec = inside(f"{x}-{y}.textproto")
        with open(spec, "w") as file:
            file.write(f"""model: "line.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "y" }} }}
metric {{ accuracy {{ logits: "logits"  labels: "y" }} }}
optimizer {{ sgd {{ learning_rate: 0.5 }} }}
data {{
  source {{ npy {{ field {{ name: "x"  path: "x-{x}.npy" }} field {{ name: "y"  path: "y-{y}.npy" }} }} }}
  stage {{ batch {{ size: 16 }} }}
}}
epochs: 20
""")
        output = inside(f"{x}-{y}.onnx")
        run(compile_spec(spec, folder), "--export", output, "--quiet", cwd=folder)
        with open(output, "rb") as file:
            results[x, y] = file.read()
    expect(len(set(results.values())) == 1, "orders of bytes and of dims, and kinds of labels, train to different bits")
    with open(inside("line.onnx"), "rb") as file:
        expect(file.read() not in results.values(), "nothing has trained")


def binary():
    """Two texts as the targets of one logit; predictions use their names."""
    folder = scratch()
    inside = lambda name: os.path.join(folder, name)
    model = Model("one", opset=17)
    weight, bias = model.initializer("w", FLOAT, [1, 1], [0.1]), model.initializer("b", FLOAT, [1], [0.0])
    model.output(model.node("Gemm", [model.input("age", FLOAT, ["N", 1]), weight, bias], ["p"], "fc"), FLOAT, ["N", 1])
    model.save(inside("one.onnx"))
    young = 'a ""young"" one'
    with open(inside("ages.csv"), "w") as file:
        file.write("age,old\n" + "".join(f"{age / 10},{'old' if age > 0 else young}\n" for age in range(-30, 31)))
    with open(inside("one.textproto"), "w") as file:
        file.write("""model: "one.onnx"  loss { binary_cross_entropy { logits: "p"  targets: "old" } }  optimizer { sgd { learning_rate: 2 } }
data {
  source { csv { path: "ages.csv"  field { column: "age"  shape: 1 }  field { column: "old"  shape: 1  categories {} } } }
  stage { map { field: "old"  cast: F32 } }
  stage { batch { size: 10 } }
}
epochs: 30
checkpoint { directory: "run" }
""")
    run(compile_spec(inside("one.textproto"), folder), "--quiet", cwd=folder)
    classes = [row["class"] for row in csv.DictReader(io.StringIO(gradc("predict", inside("one.textproto"), "--data", inside("ages.csv"))))]
    expect(classes[0] == young and classes[-1] == "old" and set(classes) == {young, "old"}, str(classes))


texts()
held_out_texts()
bad_rows()
binary()
orders()
