"""A model exported with `export { preprocessing: true }` takes fields as they are in the data, and computes what the trainer evaluated: the
evaluation's loss within 1e-5, with the exported model in a job without maps, in the oldest and the newest opset.

    preprocessing.py ROOT
"""
import array
import json
import math
import os
import random
import struct
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars"), os.path.join(ROOT, "test")]
from bar import compile_spec, events, gradc, program, run, scratch
from onnx_writer import FLOAT, Model, metadata

ROWS, BATCH = 40, 8
CODES = {"<f4": "f", "<f8": "d", "<i4": "i", "<i8": "q", "|u1": "B"}


def write_npy(path, descr, shape, values):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        array.array(CODES[descr], values).tofile(file)


def write_data(folder, rows=ROWS):
    """Pictures, a table of large numbers with a constant column, a kind, a count, and the target."""
    numbers = random.Random(5)
    arrays = {
        "picture": ("|u1", (rows, 9, 12, 3), [numbers.randrange(256) for _ in range(rows * 9 * 12 * 3)]),
        "gray": ("|u1", (rows, 6, 6, 1), [numbers.randrange(256) for _ in range(rows * 36)]),
        "t": ("<f8", (rows, 3), [value for _ in range(rows) for value in (1e6 + numbers.gauss(0, 3), numbers.random(), 7.0)]),
        "kind": ("<i8", (rows,), [numbers.randrange(4) for _ in range(rows)]),
        "count": ("<i4", (rows, 2, 3), [numbers.randrange(-50, 50) for _ in range(rows * 6)]),
        "plain": ("<f4", (rows, 2), [numbers.gauss(0, 1) for _ in range(rows * 2)]),
        "y": ("<f4", (rows, 4), [numbers.gauss(0, 1) for _ in range(rows * 4)]),
    }
    for name, (descr, shape, values) in arrays.items():
        write_npy(os.path.join(folder, name + ".npy"), descr, shape, values)
    return list(arrays)


def write_model(path, opset):
    """All inputs, flattened, weighted, and summed. `t` and `plain` have the names of their fields."""
    numbers = random.Random(7)
    model = Model("inputs", opset=opset)
    terms = []
    for name, shape in {"x": (3, 4, 5), "g": (4, 3, 1), "t": (3,), "k": (4,), "c": (3, 2), "plain": (2,)}.items():
        size = math.prod(shape)
        value = model.input(name, FLOAT, ["N", *shape])
        flat = model.node("Flatten", [value], [name + ".flat"], name + ".flatten")
        weight = model.initializer(name + ".weight", FLOAT, [size, 4], [numbers.gauss(0, 1) for _ in range(size * 4)])
        terms.append(model.node("MatMul", [flat, weight], [name + ".out"], name + ".matmul"))
    total = terms[0]
    for i, term in enumerate(terms[1:]):
        total = model.node("Add", [total, term], ["y_hat" if i == len(terms) - 2 else f"sum{i}"], f"add{i}")
    model.output("y_hat", FLOAT, ["N", 4])
    model.save(path)


MAPS = """
  stage { map { field: "picture" crop { height: 8 width: 10 } } }
  stage { map { field: "picture" resize { height: 4 width: 5 } } }
  stage { map { field: "picture" normalize { mean: 0.4 mean: 0.5 mean: 0.6 deviation: 0.2 deviation: 0.25 deviation: 0.3 } } }
  stage { map { field: "gray" resize { height: 4 width: 3 filter: AREA round: true } } }
  stage { map { field: "gray" cast: F32 scale: 0.00390625 } }
  stage { map { field: "t" standardize {} } }
  stage { map { field: "kind" one_hot { classes: 4 } } }
  stage { map { field: "count" cast: F32 scale: 0.02 offset: 0.5 } }
  stage { map { field: "count" transpose { order: 1 order: 0 } } }"""
FEEDS = {"x": "picture", "g": "gray", "k": "kind", "c": "count"}


def write_spec(path, model, fields, feeds, maps, rest, rate, random_maps="", evaluates=True):
    source = "source { npy { " + " ".join(f'field {{ name: "{f}" path: "{f}.npy" }}' for f in fields) + " rows { every: 5 %s: 0 } } }"
    with open(path, "w") as file:
        file.write(f"""model: "{model}"
{chr(10).join(f'feed {{ input: "{i}" field: "{f}" }}' for i, f in feeds.items())}
loss {{ mean_squared_error {{ predictions: "y_hat" targets: "y" }} }}
optimizer {{ sgd {{ learning_rate: {rate} }} }}
data {{ {source % "except"} {random_maps} {maps} stage {{ batch {{ size: {BATCH} }} }} }}
{f'evaluation {{ data {{ {source % "only"} {maps} stage {{ batch {{ size: {BATCH} }} }} }} }}' if evaluates else ""}
{rest}
""")


def evaluated(folder, name, *options):
    """Trains a spec and returns the loss of its last evaluation."""
    trainer = compile_spec(os.path.join(folder, name + ".textproto"), folder)
    log = os.path.join(folder, name + ".jsonl")
    said = run(trainer, "--log", log, *options)
    return events(log, "eval")[-1]["loss"], said


def expect(holds, *what):
    if not holds:
        sys.exit(f"preprocessing.py: {' '.join(map(str, what))}")


def metadata_of(path):
    with open(path, "rb") as file:
        return metadata(file.read())


def check(opset):
    folder = scratch()
    fields = write_data(folder)
    write_model(os.path.join(folder, "model.onnx"), opset)
    write_spec(os.path.join(folder, "raw.textproto"), "model.onnx", fields, FEEDS, MAPS,
               'epochs: 3 export { onnx: "trained.onnx" preprocessing: true } checkpoint { directory: "run" }', "1e-4",
               'stage { map { field: "gray" flip {} } }')
    loss, said = evaluated(folder, "raw")
    trained = os.path.join(folder, "trained.onnx")
    # Without a place in the spec, --checkpoint gives it one.
    write_spec(os.path.join(folder, "placed.textproto"), "model.onnx", fields, FEEDS, MAPS, "epochs: 3 export { preprocessing: true }", "1e-4",
               'stage { map { field: "gray" flip {} } }')
    evaluated(folder, "placed", "--checkpoint", os.path.join(folder, "placed-run"))
    placed = metadata_of(os.path.join(folder, "placed-run", "trained.onnx"))
    expect(placed == metadata_of(trained), placed, "expected the metadata of trained.onnx")

    # The same rows unprocessed, through the exported model.
    write_spec(os.path.join(folder, "again.textproto"), "trained.onnx", fields, {"t_raw": "t"}, "", "steps: 1", "1e-30")
    again, _ = evaluated(folder, "again")
    expect(abs(again - loss) <= 1e-5 * loss, f"opset {opset}: evaluated {loss}, the exported model computes {again}")

    # So does the artifact's entry; the values found in the data come from the checkpoint.
    inspected = gradc("inspect", os.path.join(folder, "raw"))
    expect("t_raw" in inspected and "picture" in inspected, "the artifact's inputs:", inspected)
    exported = os.path.join(folder, "exported.onnx")
    gradc("export", os.path.join(folder, "raw"), "--checkpoint", os.path.join(folder, "run"), "-o", exported)
    with open(trained, "rb") as one, open(exported, "rb") as other:
        expect(one.read() == other.read(), "gradc export gives another file than the trainer")
    refused = subprocess.run([program("gradc"), "export", os.path.join(folder, "raw"), "-o", exported], capture_output=True, text=True)
    expect(refused.returncode == 1 and "(standardize t)" in refused.stderr, "without a checkpoint:", refused.stderr)

    # The artifact itself needs them, too, and computes what the exported model does.
    batch = os.path.join(folder, "batch")
    os.mkdir(batch)
    write_data(batch, BATCH)
    inputs = [option for name in ("picture", "gray", "kind", "count", "plain") for option in ("--input", f"{name}={batch}/{name}.npy")]
    inputs += ["--input", f"t_raw={batch}/t.npy"]
    refused = subprocess.run([program("gradc"), "run", os.path.join(folder, "raw"), *inputs, "--output-dir", folder], capture_output=True, text=True)
    expect(refused.returncode == 2 and "'standardize t' goes by the training rows" in refused.stderr, "without a checkpoint:", refused)
    outputs = []
    for what in [os.path.join(folder, "raw"), "--checkpoint", os.path.join(folder, "run")], [trained]:
        gradc("run", *what, *inputs, "--output-dir", folder)
        with open(os.path.join(folder, "y_hat.npy"), "rb") as file:
            outputs.append(array.array("f", file.read()[-16 * BATCH:]))
    expect(len(set(outputs[0])) > BATCH and all(abs(a - b) <= 1e-5 * max(1, abs(a)) for a, b in zip(*outputs)), "outputs differ:", outputs)

    # Weights alone are the model's; check reports the values found.
    weights = os.path.join(folder, "weights.safetensors")
    for source in [os.path.join(folder, "run")], [os.path.join(folder, "raw"), "--checkpoint", os.path.join(folder, "run")]:
        gradc("export", *source, "-o", weights)
        with open(weights, "rb") as file:
            names = json.loads(file.read(struct.unpack("<Q", file.read(8))[0]))
        expect({n for n in names if n != "__metadata__"} == {f"{i}.weight" for i in ("x", "g", "t", "k", "c", "plain")}, names)
    expect("values that standardize has found" in gradc("check", os.path.join(folder, "again.textproto")), "gradc check on the exported model")

    said_of = metadata_of(trained)
    expect(said_of.get("gradc.input.picture") == "field 'picture' as the data have it", said_of)
    expect("exported" in said and "t_raw takes field 't' as the data have it" in said, said)
    return folder, fields


def check_metadata(folder, fields):
    """Without the option, the file says what its inputs are made of; without an evaluation, random steps are named."""
    spec = os.path.join(folder, "plain.textproto")
    write_spec(spec, "model.onnx", fields, FEEDS, MAPS, 'steps: 1 export { onnx: "plain.onnx" }', "1e-4",
               'stage { map { field: "gray" flip { vertical: 0.5 } } }', evaluates=False)
    trainer = compile_spec(spec, folder)
    run(trainer)
    said = metadata_of(os.path.join(folder, "plain.onnx"))
    expect(said["gradc.input.c"] == "field 'count' after cast: F32 scale: 0.02 offset: 0.5, transpose { order: 1 order: 0 }", said)
    expect(said["gradc.input.g"] == "field 'gray' after resize { height: 4 width: 3 filter: AREA round: true }, "
           "cast: F32 scale: 0.00390625, without flip { vertical: 0.5 }", said)
    expect("gradc.input.plain" not in said, said)


def check_metadata_without_data(folder):
    """A trainer compiled where the data does not exist describes its inputs in the same way."""
    os.rename(os.path.join(folder, "plain.textproto"), os.path.join(folder, "early.textproto"))
    expected = metadata_of(os.path.join(folder, "plain.onnx"))
    elsewhere = os.path.join(folder, "elsewhere")
    os.mkdir(elsewhere)
    for name in "early.textproto", "model.onnx":
        os.rename(os.path.join(folder, name), os.path.join(elsewhere, name))
    trainer = compile_spec(os.path.join(elsewhere, "early.textproto"), elsewhere)
    run(trainer, "--data-dir", folder)
    said = metadata_of(os.path.join(elsewhere, "plain.onnx"))
    expect(said["gradc.input.c"] == expected["gradc.input.c"], said)


for opset in 7, 21:
    last = check(opset)
check_metadata(*last)
check_metadata_without_data(last[0])
