"""Tables of which a step updates only the rows that it reads: SGD and Adagrad leave the bits of an update of all rows; lazy moments stay
where no row is read, with the same bits on any number of threads and after a resume, on a (simulated) GPU, with a loss scale, and where
a batch ends early; the step's memory holds no gradient of a table; an index out of range changes nothing.

    row_updates.py
"""
import array
import os
import random
import re
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import expect, folder, path
from bar import BIN, events, gradc, program, read_safetensors, run, write_npy
from onnx_writer import FLOAT, INT64, Model

WORDS, PEOPLE, LENGTH, WIDTH, CLASSES, BATCH, ROWS = 3000, 90, 5, 19, 4, 6, 32
SIMULATED = dict(os.environ, GRADC_LIBCUDA=os.path.join(BIN, "../test/gradc-simulated-cuda.so"))
TABLES = "words", "people"
numbers = random.Random(4)


def draws(count, deviation=1):
    return [numbers.gauss(0, deviation) for _ in range(count)]


def write_model():
    """The mean of a text's words, times two people, both rows of one table."""
    model = Model("rows")
    model.initializer("words", FLOAT, [WORDS, WIDTH], draws(WORDS * WIDTH))
    model.initializer("people", FLOAT, [PEOPLE, WIDTH], draws(PEOPLE * WIDTH))
    model.initializer("w", FLOAT, [WIDTH, CLASSES], draws(WIDTH * CLASSES, 0.3))
    read = model.node("Gather", ["words", model.input("text", INT64, ["N", LENGTH])], ["read"], "embed")
    value = model.node("ReduceMean", [read], ["mean"], "mean", axes=[1], keepdims=0)
    for name in "writer", "reader":
        person = model.node("Gather", ["people", model.input(name, INT64, ["N"])], [f"{name}.row"], name)
        value = model.node("Mul", [value, person], [f"with.{name}"], f"with {name}")
    model.output(model.node("MatMul", [value, "w"], ["logits"], "fc"), FLOAT, ["N", CLASSES])
    model.save(path("rows.onnx"))


def write_data(bad=None, rows=ROWS):
    """Small indices are frequent, and some count from the end; the last word is `bad`."""
    def indices(count, limit):
        return array.array("q", (numbers.choice([numbers.randrange(4), -1 - numbers.randrange(3), numbers.randrange(-limit, limit)])
                                 for _ in range(count)))
    text = indices(rows * LENGTH, WORDS)
    if bad is not None:
        text[-1] = bad
    write_npy(path("text.npy"), text, (rows, LENGTH))
    for name in "writer", "reader":
        write_npy(path(f"{name}.npy"), indices(rows, PEOPLE), (rows,))
    write_npy(path("labels.npy"), array.array("q", (numbers.randrange(CLASSES) for _ in range(rows))), (rows,))


def write_spec(name, updates, steps=18, batch=BATCH):
    fields = " ".join(f'field {{ name: "{f}"  path: "{f}.npy" }}' for f in ("text", "writer", "reader", "labels"))
    with open(path(name + ".textproto"), "w") as file:
        file.write(f"""model: "rows.onnx"
loss {{ softmax_cross_entropy {{ logits: "logits"  labels: "labels" }} }}
{updates}
data {{ source {{ npy {{ {fields} }} }} stage {{ batch {{ size: {batch} }} }} }}
steps: {steps}
""")
    return path(name + ".textproto")


def compiled(name, updates, *options, batch=BATCH):
    gradc("compile", write_spec(name, updates, batch=batch), "-o", path(name), *options)
    return path(name)


def weights(trainer, run_folder, **how):
    """The bytes of each tensor after a run."""
    gradc("export", trainer, "--checkpoint", run_folder, "-o", path("w.safetensors"), **how)
    return {name: values for name, (_, values) in read_safetensors(path("w.safetensors")).items()}


def train(trainer, *options, name="whole", **how):
    """Losses and weights; the run is called `name`."""
    log, where = trainer + ".jsonl", f"{trainer}.{name}.run"
    run(trainer, "--data-dir", folder, "--log", log, "--quiet", "--checkpoint", where, *options, **how)
    return [step["loss"] for step in events(log, "step")], weights(trainer, where, **how)


def near(a, b, limit):
    return len(a) == len(b) and all(abs(x - y) <= limit * abs(x) for x, y in zip(a, b))


def arena(plan):
    """The bytes of a step's results."""
    number, unit = re.search(r"^train: .* arena ([\d.]+) (\w+)$", plan, re.M).groups()
    return float(number) * {"B": 1, "KiB": 1 << 10, "MiB": 1 << 20}[unit]


def check_bits():
    # A decay that is too small for any bit makes the step update all rows.
    for rule in "sgd", "adagrad":
        by_rows = train(compiled(rule, f"optimizer {{ {rule} {{ learning_rate: 0.3 }} }}"))
        whole = train(compiled(f"{rule}-whole", f"optimizer {{ {rule} {{ learning_rate: 0.3  weight_decay: 1e-60 }} }}"))
        expect(f"{rule} has other losses by rows: {by_rows[0]}, {whole[0]}", by_rows[0] == whole[0] and len(whole[0]) == 18)
        for name in (*TABLES, "w"):
            expect(f"{rule} has other bits of {name} by rows", by_rows[1][name] == whole[1][name])
        kernels = [gradc("plan", path(f"{name}.textproto"), "--target", "cpu") for name in (rule, f"{rule}-whole")]
        expect(f"{rule} updates by rows only without a decay", ["set_rows" in plan for plan in kernels] == [True, False])
        table = 4 * WORDS * WIDTH
        expect(f"the step's results need {arena(kernels[0])} B, a table has {table}", arena(kernels[0]) < table / 10)


ADAM = "adam { learning_rate: 0.02 }"
LAZY = f'optimizer {{ {ADAM} }} clip {{ global_norm: 0.5 }} group {{ pattern: "words"  pattern: "people"  lazy: true }}'


def check_lazy():
    lazy = compiled("lazy", LAZY)
    losses, after = train(lazy)
    dense, _ = train(compiled("dense", f"optimizer {{ {ADAM} }} clip {{ global_norm: 0.5 }}"))
    expect("lazy moments are those of all rows", losses[0] == dense[0] and not near(losses, dense, 1e-3))
    for threads in 1, 3:
        expect("threads change bits", train(lazy, "--threads", threads, name=f"{threads} threads") == (losses, after))
    train(lazy, "--steps", 7, name="half")
    rest, resumed = train(lazy, "--resume", f"{lazy}.half.run", "--steps", 18, name="rest")
    expect("a resume changes bits", (rest, resumed) == (losses, after))  # the log goes on, too
    parts, _ = train(compiled("parts", LAZY + " micro_batches: 2"))
    expect(f"in two parts: {parts}, not {losses}", near(losses, parts, 1e-5))
    half, _ = train(compiled("half", LAZY + " precision: FP16"))
    skipped = [step["skipped"] for step in events(path("half.jsonl"), "step")]
    before = skipped.index(1)  # the scale of the loss is too large once: that step changes nothing
    expect(f"in 16 bits: {half}, not {losses}", before > 3 and skipped[-1] == 1 and near(losses[:before], half[:before], 1e-3) and half != losses)
    gpu, _ = train(compiled("gpu", LAZY, "--target=cuda:sm_90", "--llvm-image"), env=SIMULATED)
    expect(f"the GPU's losses are {gpu}, not {losses}", near(losses, gpu, 1e-5))
    gradc("verify", path("lazy.textproto"), "--target", "cpu")


def check_many_reads():
    """Equal rows of many reads are found by a list with the first position of each row of the table."""
    batch = 560  # people are read twice, so by 1,120 indices
    write_data(rows=2 * batch + 30)  # the last batch has fewer rows
    lazy, dense = (train(compiled(name, updates, batch=batch)) for name, updates in (("many", LAZY), ("many-dense", LAZY.replace("lazy: true", ""))))
    expect("lazy moments are those of all rows", lazy[0][0] == dense[0][0] and not near(lazy[0], dense[0], 1e-3))
    for threads in 1, 3:
        expect("threads change bits", train(path("many"), "--threads", threads, name=f"{threads} threads") == lazy)
    adagrad = "optimizer { adagrad { learning_rate: 0.3 WD} }"
    by_rows, whole = (train(compiled(f"many-{name}", adagrad.replace("WD", decay), batch=batch // 2))
                      for name, decay in (("rows", ""), ("whole", " weight_decay: 1e-60 ")))
    expect(f"adagrad has other losses by rows: {by_rows[0]}, {whole[0]}", by_rows[0] == whole[0])
    expect("adagrad has other bits by rows", by_rows[1] == whole[1])
    gradc("verify", path("many.textproto"), "--target", "cpu")
    write_data()


def check_bad_index():
    """The step with the index fails, and nothing after it runs."""
    trainer = path("lazy")
    write_data(bad=WORDS)
    result = subprocess.run([trainer, "--data-dir", folder, "--log", path("bad.jsonl"), "--quiet"], capture_output=True, text=True)
    expect(f"{result.stderr!r} does not name the node", f'node "embed": index {WORDS} is out of range' in result.stderr + result.stdout)
    expect("the run goes on", result.returncode == 1 and len(events(path("bad.jsonl"), "step")) == 5)


write_model()
write_data()
check_bits()
check_lazy()
check_many_reads()
check_bad_index()
print("rows: SGD's and Adagrad's bits, lazy moments, threads, resumes, 16 bits, a GPU and errors hold")
