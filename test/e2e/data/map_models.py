"""Map stages given as ONNX models: compared with built-in stages, before and after batch, with any number of threads, stopped and resumed,
with random numbers, their own weights, caches, and bad rows; and the output of the tools about them.

    map_models.py
"""
import array
import os
import random
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, folder, path
from bar import BIN, DIGITS, compile_spec, events, gradc, run, scratch, write_mlp_job, write_npy
from onnx_writer import FLOAT, INT64, UINT8, Model, fields

for name in os.listdir(DIGITS):
    shutil.copy(os.path.join(DIGITS, name), folder)


def scale_model(lead):
    """u8 pictures become f32 / 16, labels stay."""
    model = Model("scale")
    pixels = model.node("Cast", [model.input("images", UINT8, lead + [8, 8])], ["pixels"], "to_float", to=FLOAT)
    factor = model.initializer("factor", FLOAT, [], [0.0625])
    model.output(model.node("Mul", [pixels, factor], ["scaled"], "scale"), FLOAT, lead + [8, 8])
    zero = model.initializer("zero", INT64, [], [0])
    model.output(model.node("Add", [model.input("classes", INT64, lead), zero], ["same"], "same"), INT64, lead)
    return model


def noise_model(lead):
    model = Model("noise")
    pixels = model.input("images", FLOAT, lead + [8, 8])
    noise = model.node("RandomUniformLike", [pixels], ["noise"], "noise", low=-0.2, high=0.2)
    model.output(model.node("Add", [pixels, noise], ["noisy"], "add"), FLOAT, lead + [8, 8])
    return model


def mix_model(lead):
    """A product whose weights are stored in panels; the trained model has weights of the same names."""
    numbers = random.Random(4)
    model = Model("mix")
    pixels = model.input("images", FLOAT, lead + [8, 8])
    rows = model.initializer("rows", INT64, [2], [-1, 64])
    weight = model.initializer("fc1.weight", FLOAT, [64, 64], [numbers.gauss(0, 0.02) for _ in range(4096)])
    mixed = model.node("MatMul", [model.node("Reshape", [pixels, rows], ["flat"], "flat"), weight], ["mixed"], "mix")
    square = model.initializer("square", INT64, [len(lead) + 2], [-1, 8, 8] if lead else [8, 8])
    squares = model.node("Reshape", [mixed, square], ["squares"], "back")
    model.output(model.node("Add", [pixels, squares], ["out"], "add"), FLOAT, lead + [8, 8])
    return model


for name, make in (("scale", scale_model), ("noise", noise_model), ("mix", mix_model)):
    for kind, lead in (("row", []), ("one", [1]), ("open", ["N"])):
        make(lead).save(path(f"{name}-{kind}.onnx"))

CAST = 'stage { map { field: "images"  cast: F32  scale: 0.0625 } }'
SPEC = """model: "mlp.onnx"
feed {{ input: "x"  field: "images" }}
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
optimizer {{ adam {{}} }}
data {{
  source {{ npz {{ path: "digits.npz"  rows {{ every: 5  except: 0 }} }} }}
  {rows} stage {{ shuffle {{}} }} stage {{ batch {{ size: 32 }} }} {behind} {more}
}}
evaluation {{ data {{
  source {{ npz {{ path: "digits.npz"  rows {{ every: 5  only: 0 }} }} }} {rows} stage {{ batch {{ size: 50 }} }} {behind}
}} }}
epochs: 2  seed: 7
"""
FIRST = 45  # steps of an epoch: 44 batches of 32 and one of 29


def scale(kind):
    return (f'stage {{ map {{ model {{ file: "scale-{kind}.onnx"  input {{ field: "labels"  to: "classes" }}'
            f'  output {{ name: "scaled"  field: "images" }} output {{ name: "same"  field: "labels" }} }} }} }}')


def noise(kind):
    return f'stage {{ map {{ model {{ file: "noise-{kind}.onnx"  output {{ name: "noisy"  field: "images" }} }} }} }}'


def mix(kind):
    return f'stage {{ map {{ model {{ file: "mix-{kind}.onnx"  output {{ name: "out"  field: "images" }} }} }} }}'


def build(name, rows, behind="", more="stage { prefetch {} }"):
    with open(path(name + ".textproto"), "w") as file:
        file.write(SPEC.format(rows=rows, behind=behind, more=more))
    return compile_spec(path(name + ".textproto"), folder)


def train(trainer, *options, data=folder, **environment):
    """The results of a training: the losses of its steps and evaluations, and the model without the description of its inputs."""
    name = os.path.basename(trainer)
    if "--resume" not in options:
        shutil.rmtree(path(name + "-run"), ignore_errors=True)
    run(trainer, "--data-dir", data, "--log", path(name + ".jsonl"), "--checkpoint", path(name + "-run"),
        "--export", path(name + "-out.onnx"), "--quiet", *options, cwd=data, env=dict(os.environ, **environment))
    with open(path(name + "-out.onnx"), "rb") as file:
        return ([event["loss"] for event in events(path(name + ".jsonl"), "step")],
                [event["loss"] for event in events(path(name + ".jsonl"), "eval")],
                [field for field in fields(file.read()) if field[0] != 14])


def close(found, expected):
    pairs = list(zip(found[0] + found[1], expected[0] + expected[1], strict=True))
    return all(abs(a - b) < 1e-4 for a, b in pairs)


# 1. The same results as a built-in stage, including last batches of 29 and 10 rows.
plain = train(build("plain", CAST))
expect("a model on rows is as the built-in stage", train(build("row", scale("row"))) == plain)
expect("so is one with a first dim of 1", train(build("one", scale("one"))) == plain)
expect("so is one with an open first dim", train(build("open", scale("open"))) == plain)
expect("so is one behind batch", train(build("behind", "", scale("open"))) == plain)
os.rename(path("digits.npz"), path("away.npz"))
later = build("later", "", scale("open"))
os.rename(path("away.npz"), path("digits.npz"))
expect("data that come after the compiler lose no row", train(later) == plain)
kept = 'stage { filter { field: "labels"  most: 7 } }'
expect("a filter reads what a model has made",
       train(build("filtered", scale("row") + kept)) == train(build("kept", CAST + kept)))

# 2. Their own weights.
mixed = train(build("mixed", CAST + mix("row")))
expect("weights matter", not close(mixed, plain))
expect("a product by rows is one by batches", close(train(build("mixed-batch", CAST, mix("open"))), mixed))
expect("models in turn before batch", train(build("turn-rows", scale("one") + mix("row"))) == mixed)
expect("models in turn behind batch", close(train(build("turn", "", scale("open") + mix("open"))), mixed))

# 3. Random numbers depend on seed, epoch and row.
for place, rows, behind in (("rows", CAST + noise("row"), ""), ("batches", CAST, noise("open"))):
    trainer = build("noise-" + place, rows, behind)
    noisy = train(trainer)
    expect(f"{place}: noise is there", not close(noisy, plain))
    expect(f"{place}: the step's threads do not matter", train(trainer, "--threads", "3") == noisy)
    expect(f"{place}: another seed gives other noise", train(trainer, "--seed", "8")[0] != noisy[0])
    for threads in (1, 2, 5):
        other = build(f"noise-{place}-{threads}", rows, behind, f"stage {{ prefetch {{ depth: 3 }} }} parallelism: {threads}")
        expect(f"{place}: the same bits from {threads} threads", train(other) == noisy)
    train(trainer, "--steps", "20")
    losses, _, trained = train(trainer, "--resume", "latest", "--epochs", "2")
    expect(f"{place}: the same bits after a resume in the middle of an epoch", (losses, trained) == noisy[::2])
noisy = train(path("noise-rows"))
cached = train(build("cached", CAST + noise("row") + "stage { cache {} }"))
expect("a cache keeps the noise of the first epoch",
       cached[0][:FIRST] == noisy[0][:FIRST] and cached[0][FIRST + 1] != noisy[0][FIRST + 1])

# 4. Bad rows are skipped before models see a batch.
table = scratch()


def in_table(name):
    return os.path.join(table, name)


spec = write_mlp_job(table, (6, 8, 3), 4, 25)
labels = array.array("q", (9 if row % 7 == 3 else row % 3 for row in range(100)))
write_npy(in_table("labels.npy"), labels, (100,))
model = Model("double")
model.output(model.node("Add", [model.input("x", FLOAT, ["N", 6])] * 2, ["y"], "twice"), FLOAT, ["N", 6])
model.save(in_table("double.onnx"))
MAP = 'stage { map { model { file: "double.onnx"  output { name: "y"  field: "x" } } } }'
with open(spec) as file:
    text = file.read()
BATCH = "stage { batch { size: 4  drop_remainder: true } }"
skipped = []
for number, chain in enumerate(('stage { map { field: "x"  scale: 2 } } ' + BATCH, MAP + BATCH, BATCH + MAP)):
    for threads in (0, 1, 3):
        with open(in_table(f"skip{number}{threads}.textproto"), "w") as file:
            chain_ = f"stage {{ shuffle {{}} }} {chain} stage {{ prefetch {{ depth: 3 }} }} on_error: SKIP parallelism: {threads}"
            file.write(text.replace(BATCH, chain_) + "epochs: 3\n")
        skipped.append(train(compile_spec(in_table(f"skip{number}{threads}.textproto"), table), data=table))
expect("bad rows are skipped", len(skipped[0][0]) == 3 * (86 // 4) and all(one == skipped[0] for one in skipped))

# 5. After batch, they take any number of rows.
for number, chain in enumerate(('stage { map { field: "x"  scale: 2 } } stage { batch { size: 4 } }', "stage { batch { size: 4 } }" + MAP)):
    with open(in_table(f"rows{number}.textproto"), "w") as file:
        file.write(text.replace(BATCH, chain))
trainers = [compile_spec(in_table(f"rows{number}.textproto"), table) for number in range(2)]
for rows in (22, 25, 27):
    write_npy(in_table("x.npy"), array.array("f", (row % 11 / 11 for row in range(rows * 6))), (rows, 6))
    write_npy(in_table("labels.npy"), array.array("q", (row % 3 for row in range(rows))), (rows,))
    plain, modelled = (train(trainer, data=table) for trainer in trainers)
    expect(f"{rows} rows in place of 100", len(plain[0]) == (rows + 3) // 4 and plain == modelled)

# 6. The output of the tools about them.
spec = path("turn.textproto")
plan = gradc("plan", spec)
expect("gradc plan lists their entries", "map.1" in plan and "map.1.tail" not in plan)
expect("gradc verify checks their kernels", "cast_mul" in gradc("verify", spec))
expect("gradc bench --input times them", "model 'mix-open.onnx'" in gradc("bench", "--input", spec, "--seconds", "0.2"))
train(path("turn"), "--trace", path("trace.json"), "--steps", "4")
with open(path("trace.json")) as file:
    expect("a trace shows them", "model 'scale-open.onnx'" in file.read())

# 7. During a GPU's steps, they run on the CPUs with weights in CPU layouts.
for name in ("turn", "turn-rows"):
    gradc("compile", path(name + ".textproto"), "-o", path("gpu"), "--target=cpu,cuda:sm_90", "--llvm-image")
    found = train(path("gpu"), "--steps", "3", "--level", "cuda:sm_90",
                  GRADC_LIBCUDA=os.path.join(BIN, "../test/gradc-simulated-cuda.so"))
    expect(f"{name}: a GPU's step follows the CPU's",
           all(abs(a - b) < 1e-4 for a, b in zip(found[0], mixed[0][:3], strict=True)))
