"""A Parquet file trains to the bits of the same rows in CSV, drafts a spec, and is used for predictions; without the plug-in, the message
says what to install.

    parquet.py ROOT [PLUGIN]
"""
import os
import shutil
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars"), os.path.join(ROOT, "test")]
from bar import BIN, REFERENCES, compile_spec, gradc, program, run, scratch
from onnx_writer import FLOAT, Model

folder = scratch()
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


def path(name):
    return os.path.join(folder, name)


def write_model():
    model = Model("people", opset=17)
    x, city = model.input("numbers", FLOAT, ["N", len(NUMBERS)]), model.input("city", FLOAT, ["N", 4])
    own = model.node("MatMul", [x, model.initializer("w", FLOAT, [len(NUMBERS), 2], [0.1, -0.1] * len(NUMBERS))], ["own"], "own")
    of_city = model.node("MatMul", [city, model.initializer("v", FLOAT, [4, 2], [0.1, -0.1] * 4)], ["of_city"], "of_city")
    model.output(model.node("Add", [own, of_city], ["logits"], "add"), FLOAT, ["N", 2])
    model.save(path("people.onnx"))


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
    names = ["age", "income", "share", "member", "since", "seen", "balance", "rating", "city", "answered", "friends"]
    assert gradc("inspect", "people.parquet", cwd=folder) == ".parquet table of 240 rows; columns:\n  " + "\n  ".join(names) + "\n"

    refused(3, "column 'friends' has Arrow's type '+l', expected numbers, booleans, texts or times", program("gradc"), "check",
            write_spec("nested", "people.parquet", NUMBERS[:-1] + ["friends"]))
    with open(path("people.parquet"), "rb") as file:
        whole = file.read()
    with open(path("cut.parquet"), "wb") as file:
        file.write(whole[:len(whole) // 2])
    refused(3, "cannot read", program("gradc"), "check", write_spec("cut", "cut.parquet"))


shutil.copy(os.path.join(REFERENCES, "people.parquet"), folder)
shutil.copy(os.path.join(REFERENCES, "people.csv"), folder)
write_model()
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
