"""A model exported by an example computes what its trainer's own evaluation computed: the loss over the test set within 1e-5, and the same
outputs one picture at a time, evaluated op by op. So does a model that its exporter left in training mode.

    exported.py ROOT
"""
import array
import math
import os
import shutil
import sys
import zipfile

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars"), os.path.join(ROOT, "test"), os.path.join(ROOT, "test/import")]
from bar import compile_spec, events, gradc, read_npy, run, scratch, write_npy
from onnx_writer import attribute
from small_models import left_in_training

EXAMPLES = {  # (model, folder and name of the data, scale of the pictures); every fifth row is evaluated on
    "digits": ("mlp.onnx", "digits", "digits.npz", 1 / 16),
    "lenet": ("lenet.onnx", "digits", "digits.npz", 1 / 16),
    "resnet18": ("resnet18.onnx", "cifar", "pictures.npz", 1 / 256),
}


def test_set(path, scale):
    """The shape, the individual pictures, and the labels."""
    with zipfile.ZipFile(path) as archive:
        shape, images = read_npy(archive.read("images.npy"))
        _, labels = read_npy(archive.read("labels.npy"))
    size = math.prod(shape[1:])
    rows = range(0, shape[0], 5)
    return shape[1:], [array.array("f", (v * scale for v in images[r * size:(r + 1) * size])) for r in rows], [labels[r] for r in rows]


def outputs(model, pictures, shape, folder, *options):
    write_npy(os.path.join(folder, "x.npy"), array.array("f", b"".join(p.tobytes() for p in pictures)), (len(pictures), *shape))
    gradc("run", model, "--input", f"x={folder}/x.npy", "--output-dir", folder, *options)
    with open(os.path.join(folder, "logits.npy"), "rb") as file:
        (rows, classes), values = read_npy(file.read())
    return [values[i * classes:(i + 1) * classes] for i in range(rows)]


def cross_entropy(logits, label):
    top = max(logits)
    return math.log(sum(math.exp(v - top) for v in logits)) + top - logits[label]


def check(name, leave_in_training=False):
    model, data_folder, data, scale = EXAMPLES[name]
    folder, source = scratch(), os.path.join(ROOT, "examples", name)
    spec = os.path.join(folder, "train.textproto")
    with open(os.path.join(source, "train.textproto")) as file:
        text = file.read()
    data_path = os.path.join(ROOT, "examples", data_folder, data)
    for path in (f'"../{data_folder}/{data}"', f'"{data}"'):
        text = text.replace(path, f'"{data_path}"')
    with open(spec, "w") as file:
        file.write(text)
    shutil.copy(os.path.join(source, model), folder)
    kept, left = attribute("training_mode", 0), attribute("training_mode", 1)
    if leave_in_training:
        with open(os.path.join(folder, model), "r+b") as file:
            nodes = file.read()
            assert kept in nodes
            file.seek(0)
            file.write(nodes.replace(kept, left))
    trained, log = os.path.join(folder, "trained.onnx"), os.path.join(folder, "log.jsonl")
    run(compile_spec(spec, folder), "--steps", 12, "--log", log, "--export", trained, "--quiet", cwd=folder)
    with open(trained, "rb") as file:
        assert left not in file.read(), f"{name}: exported in training"

    shape, pictures, labels = test_set(data_path, scale)
    logits = outputs(trained, pictures, shape, folder)
    loss = sum(map(cross_entropy, logits, labels)) / len(labels)
    evaluated = events(log, "eval")[-1]["loss"]
    assert abs(loss - evaluated) <= 1e-5 * abs(evaluated), f"{name}: exported {loss}, evaluated {evaluated}"
    largest = max(abs(v) for row in logits for v in row)
    for row in (0, len(pictures) // 2):
        alone = outputs(trained, [pictures[row]], shape, folder, "--reference")[0]
        error = max(abs(a - b) for a, b in zip(alone, logits[row], strict=True))
        assert error <= 1e-5 * largest, f"{name}: row {row} alone is off by {error}"
    return loss


def unused_mask():
    """Dropout with an unused mask, as PyTorch's older exporter writes it, trains, and is exported without mask and Dropout."""
    folder = scratch()
    left_in_training().save(os.path.join(folder, "left.onnx"))
    with open(os.path.join(folder, "rows.csv"), "w") as file:
        file.write("a,b,c,d,label\n" + "".join(f"{i % 3},{i % 5},{i % 7},{i % 2},{i % 3}\n" for i in range(60)))
    with open(os.path.join(folder, "left.textproto"), "w") as file:
        file.write("""model: "left.onnx"  loss { softmax_cross_entropy { logits: "logits"  labels: "label" } }  optimizer { adam { learning_rate: 0.05 } }
data { source { csv { path: "rows.csv"  field { name: "x"  column: "a"  column: "b"  column: "c"  column: "d" }  field { column: "label"  dtype: I64 } } }
  stage { batch { size: 10 } } }
epochs: 30  export { onnx: "after.onnx" }
""")
    log = os.path.join(folder, "log.jsonl")
    run(compile_spec(os.path.join(folder, "left.textproto"), folder), "--quiet", "--log", log, cwd=folder)
    steps = [event["loss"] for event in events(log, "step")]
    assert sum(steps[-6:]) < 0.8 * sum(steps[:6]), steps
    with open(os.path.join(folder, "after.onnx"), "rb") as file:
        content = file.read()
    assert b"mask" not in content and attribute("training_mode", 1) not in content
    rows = [array.array("f", [1, 2, 3, i]) for i in range(4)]
    together = outputs(os.path.join(folder, "after.onnx"), rows, (4,), folder)
    alone = outputs(os.path.join(folder, "after.onnx"), rows[2:3], (4,), folder)[0]
    assert max(abs(a - b) for a, b in zip(alone, together[2], strict=True)) < 1e-5


unused_mask()
losses = {name: check(name) for name in EXAMPLES}
left = check("resnet18", leave_in_training=True)
assert left == losses["resnet18"], f"left in training {left}, else {losses['resnet18']}"
print("exported models compute what was evaluated:", ", ".join(f"{name} {loss:.4f}" for name, loss in losses.items()))
