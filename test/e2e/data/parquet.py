"""A Parquet file trains to the bits of the same rows in CSV, drafts a spec, and is used for predictions; without the plug-in, the message
says what to install.

    parquet.py ROOT [PLUGIN]
"""
import os
import shutil
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/e2e"), os.path.join(ROOT, "test")]
from case import folder, path
from bar import BIN, REFERENCES, compile_spec, gradc, program, run
from onnx_writer import FLOAT, INT64, Model

NUMBERS = ["age", "income", "share", "member", "since", "seen", "balance", "rating"]
SPEC = """model: "people.onnx"
loss { softmax_cross_entropy { logits: "logits"  labels: "answered" } }
optimizer { adam { learning_rate: 0.05 } }
data {
  source {
    csv {
      path: "TABLE"
      field { name: "numbers"  COLUMNS  fill: MEDIAN }
      field { column: "city"  categories {} }
      field { column: "answered"  categories {} }
    }
    split { fraction: 0.2  seed: 1 }
  }
  stage { map { field: "numbers"  standardize {} } }
  stage { map { field: "city"  one_hot {} } }
  stage { shuffle {} }
  stage { batch { size: 20 } }
}
epochs: 20
checkpoint { directory: "NAME-run" }
"""


def write_model():
    model = Model("people", opset=17)
    x, city = model.input("numbers", FLOAT, ["N", len(NUMBERS)]), model.input("city", FLOAT, ["N", 4])
    own = model.node("MatMul", [x, model.initializer("w", FLOAT, [len(NUMBERS), 2], [0.1, -0.1] * len(NUMBERS))], ["own"], "own")
    of_city = model.node("MatMul", [city, model.initializer("v", FLOAT, [4, 2], [0.1, -0.1] * 4)], ["of_city"], "of_city")
    model.output(model.node("Add", [own, of_city], ["logits"], "add"), FLOAT, ["N", 2])
    model.save(path("people.onnx"))


LISTS = """model: "lists.onnx"
loss { softmax_cross_entropy { logits: "logits"  labels: "kind" } }
optimizer { adam { learning_rate: 0.05 } }
data {
  source {
    csv {
      path: "TABLE"
      field { column: "place" }
      field { name: "all"  column: "embedding"  column: "pixels"  column: "flags"  column: "gaps"  column: "one"  fill: MEDIAN }
      field { column: "words"  categories {} }
      field { column: "kind"  categories {} }
    }
  }
  stage { map { field: "all"  standardize {} } }
  stage { cache {} }
  stage { shuffle {} }
  stage { batch { size: 20 } }
}
epochs: 5
"""


def write_lists():
    """A model and specs of the same rows with columns of lists."""
    model = Model("lists", opset=17)
    place, rest, words = model.input("place", FLOAT, ["N", 3]), model.input("all", FLOAT, ["N", 17]), model.input("words", INT64, ["N", 2])
    scores = [model.node("MatMul", [x, model.initializer(f"w{n}", FLOAT, [n, 2], [0.1, -0.1] * n)], [f"scores{n}"], f"fc{n}")
              for x, n in ((place, 3), (rest, 17), (model.node("Cast", [words], ["numbers"], "cast", to=FLOAT), 2))]
    both = model.node("Add", scores[:2], ["both"], "add")
    model.output(model.node("Add", [both, scores[2]], ["logits"], "add_words"), FLOAT, ["N", 2])
    model.save(path("lists.onnx"))
    for kind in ("csv", "parquet"):
        with open(path(f"lists-{kind}.textproto"), "w") as file:
            file.write(LISTS.replace("TABLE", f"lists.{kind}"))


def of_lists(kind):
    """The model that the lists' rows of this kind train."""
    exported = path(f"lists-{kind}.onnx")
    run(compile_spec(path(f"lists-{kind}.textproto"), folder), "--quiet", "--export", exported, cwd=folder)
    with open(exported, "rb") as file:
        return file.read()


def with_lists():
    """Columns of lists are vectors; a list of another length, without values, or of lists is an error where a field names it."""
    assert of_lists("csv") == of_lists("parquet"), "other bits than from the same lists in CSV"
    values = [f"{name}[0] to {name}[{n - 1}]" for name, n in (("place", 3), ("pixels", 4), ("embedding", 8), ("flags", 2))]
    names = [*values, "one[0]", "gaps[0] to gaps[1]", "words[0] to words[1]", "ragged", "empty", "nested", "pairs", "kind"]
    assert gradc("inspect", "lists.parquet", cwd=folder) == ".parquet table of 60 rows; columns:\n  " + "\n  ".join(names) + "\n"
    model = Model("vectors", opset=17)
    weight = model.initializer("w", FLOAT, [8, 2], [0.1] * 16)
    model.output(model.node("MatMul", [model.input("embedding", FLOAT, ["N", 8]), weight], ["kind_logits"], "fc"), FLOAT, ["N", 2])
    model.save(path("vectors.onnx"))
    drafted = gradc("init", "vectors.onnx", "--data", "lists.parquet", "-o", "vectors.textproto", cwd=folder) + open(path("vectors.textproto")).read()
    assert 'field { column: "embedding" }' in drafted and 'Column "place" is not used' in drafted, drafted
    gradc("check", path("vectors.textproto"))
    types = "expected numbers, booleans, texts, times, or lists of these"
    for column, message in {"ragged": "column 'ragged' has a list of 1 value in row 45 (from 0), expected 2, as in the rows before",
                            "empty": "column 'empty' has a list of 0 values in row 0 (from 0), expected 1 or more",
                            "nested": f"column 'nested' has Arrow's type '+l of +l', {types}",
                            "pairs": f"column 'pairs' has Arrow's type '+l of +s', {types}"}.items():
        with open(path("refused.textproto"), "w") as file:
            file.write(LISTS.replace("TABLE", "lists.parquet").replace('column: "place"', f'name: "place"  column: "{column}"'))
        refused(3, f"lists.parquet': {message}", program("gradc"), "check", path("refused.textproto"))
    other_lengths()
    with open(path("holes.textproto"), "w") as file:
        file.write(LISTS.replace("TABLE", "lists.parquet").replace("  fill: MEDIAN", ""))
    refused(1, "lists.parquet:2:", program("gradc"), "train", path("holes.textproto"), "--quiet")
    refused(1, "no value in column 'gaps[0]'; to read it as 0, write missing: 0 in field 'all'", program("gradc"), "train", path("holes.textproto"), "--quiet")


def other_lengths():
    """With on_error: SKIP the row with a list of another length is skipped; a list of one value is a vector."""
    model = Model("skips", opset=17)
    scores = [model.node("MatMul", [model.input(name, FLOAT, ["N", n]), model.initializer(f"w{n}", FLOAT, [n, 2], [0.1, -0.1] * n)], [f"scores{n}"], f"fc{n}")
              for name, n in (("ragged", 2), ("one", 1))]
    model.output(model.node("Add", scores, ["logits"], "add"), FLOAT, ["N", 2])
    model.save(path("skips.onnx"))
    columns = 'field { column: "ragged" }  field { column: "one" }  field { column: "kind"  categories {} }'
    with open(path("skips.textproto"), "w") as file:
        file.write(f"""model: "skips.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "kind" }} }}
optimizer {{ adam {{ learning_rate: 0.05 }} }}
data {{ source {{ csv {{ path: "lists.parquet"  {columns} }} }} stage {{ batch {{ size: 10 }} }} on_error: SKIP }}
epochs: 1
""")
    log = path("skips.jsonl")
    gradc("train", path("skips.textproto"), "--quiet", "--log", log, cwd=folder)
    with open(log) as file:
        said = file.read()
    assert "column 'ragged' has a list of 1 value in row 45 (from 0), expected 2, as in most rows" in said, said
    assert said.count('"skip"') == 1, said


def write_spec(name, table, columns=NUMBERS):
    with open(path(name + ".textproto"), "w") as file:
        file.write(SPEC.replace("TABLE", table).replace("COLUMNS", "  ".join(f'column: "{column}"' for column in columns)).replace("NAME", name))
    return path(name + ".textproto")


def refused(code, message, *command, **more):
    done = subprocess.run([str(part) for part in command], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                          env=os.environ | more)
    assert done.returncode == code and message in done.stdout, (command, done.returncode, done.stdout)


def without():
    """The message names the missing part, in the tool and in a trainer that only reads text."""
    message = "reading Parquet needs gradc's plug-in libgradc-parquet.so, which is built where Arrow is installed (pip install pyarrow, or libparquet-dev)"
    refused(3, message, program("gradc"), "check", write_spec("none", "people.parquet"), GRADC_LIBPARQUET="/nowhere/libgradc-parquet.so")
    refused(1, message, program("gradc"), "inspect", "people.parquet", GRADC_LIBPARQUET="/nowhere/libgradc-parquet.so")
    other = os.path.join(BIN, "libgradc-runner.so")
    refused(3, "is not gradc's plug-in", program("gradc"), "check", path("none.textproto"), GRADC_LIBPARQUET=other)
    trainer = compile_spec(write_spec("text", "people.csv"), folder)
    run(trainer, "--quiet", "--export", path("text.onnx"), cwd=folder)
    with open(path("text.parquet"), "w") as file:
        file.write("age,income\n1,2\n")
    refused(3, "is not a Parquet file", program("gradc"), "check", write_spec("text", "text.parquet"))
    refused(3, "expected text.parquet to be a Parquet table, found a text file", program("gradc"), "inspect", "text.parquet")
    refused(1, "this program does not read Parquet files such as", trainer, "predict", "--data", "people.parquet")
    # Columns "x[0]" and "x[1]" of a text are a list, too.
    assert "60 rows of 'lists.csv', 2 classes" in gradc("check", path("lists-csv.textproto"))
    of_lists("csv")
    return trainer


def with_plugin(plugin):
    os.environ["GRADC_LIBPARQUET"] = plugin
    spec = write_spec("parquet", "people.parquet")
    assert "192 rows of 'people.parquet', 2 classes" in gradc("check", spec)
    trainer = compile_spec(spec, folder)
    run(trainer, "--quiet", "--export", path("parquet.onnx"), cwd=folder)
    with open(path("text.onnx"), "rb") as one, open(path("parquet.onnx"), "rb") as other:
        assert one.read() == other.read(), "other bits than from the same rows in CSV"
    both = [run(trainer, "predict", "--data", data, cwd=folder) for data in ("people.parquet", "people.csv")]
    assert both[0] == both[1] and ",yes," in both[0], both[0][:200]
    drafted = gradc("init", "one.onnx", "--data", "people.parquet", "-o", "drafted.textproto", cwd=folder) + open(path("drafted.textproto")).read()
    assert 'path: "people.parquet"' in drafted and 'column: "answered"  categories {}' in drafted, drafted
    gradc("check", path("drafted.textproto"))
    names = ["age", "income", "share", "member", "since", "seen", "balance", "rating", "city", "answered", "friends[0]"]
    assert gradc("inspect", "people.parquet", cwd=folder) == ".parquet table of 240 rows; columns:\n  " + "\n  ".join(names) + "\n"

    with_lists()
    with open(path("people.parquet"), "rb") as file:
        whole = file.read()
    with open(path("cut.parquet"), "wb") as file:
        file.write(whole[:len(whole) // 2])
    refused(3, "cannot read", program("gradc"), "check", write_spec("cut", "cut.parquet"))


for name in ("people.parquet", "people.csv", "lists.parquet", "lists.csv"):
    shutil.copy(os.path.join(REFERENCES, name), folder)
write_model()
write_lists()
model = Model("one", opset=17)
weight = model.initializer("w", FLOAT, [4, 2], [0.1] * 8)
model.output(model.node("MatMul", [model.input("city", FLOAT, ["N", 4]), weight], ["answered_logits"], "fc"), FLOAT, ["N", 2])
model.save(path("one.onnx"))
without()
plugin = sys.argv[2] if len(sys.argv) > 2 else os.path.join(BIN, "libgradc-parquet.so")
if os.path.exists(plugin):
    with_plugin(plugin)
    print("parquet: the bits of the same rows in CSV")
else:
    print("parquet: the plug-in is not built, as pyarrow and libparquet-dev are missing; test/bars/parquet builds it")
