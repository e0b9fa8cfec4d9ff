"""Artifacts compiled for batches of 64, run on fewer rows: compared with artifacts compiled for exactly these, with NaN in all memory past
the rows, through the C interface, with data that has one row more or fewer, and by `gradc run`.

    rows.py [kernels|libraries|gpu|gpu-libraries]    on the simulated GPU, with generated kernels alone or with library calls;
                                                     on a real one
"""
import array
import ctypes
import os
import random
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
from case import Session, folder, path
from bar import BIN, events, gradc, program, read_npy, run, write_npy
from onnx_writer import FLOAT, INT64, Model

BATCH, CLASSES = 64, 10
MODE = sys.argv[1] if len(sys.argv) > 1 else "cpu"
LIBRARIES = {"cpu": "", "kernels": "never", "libraries": "always", "gpu": "never", "gpu-libraries": "always"}[MODE]
TARGET = ["--target=cpu,cuda:sm_90", f"--libraries={LIBRARIES}"] if LIBRARIES else []
if LIBRARIES:
    os.environ["GRADC_LIBRARIES"] = "required"
if MODE in ("kernels", "libraries"):
    TARGET.append("--llvm-image")
    for name, file in ("CUDA", "cuda"), ("CUBLASLT", "cublaslt"), ("CUDNN", "cudnn"):
        os.environ["GRADC_LIB" + name] = os.path.abspath(os.path.join(BIN, f"../test/gradc-simulated-{file}.so"))
numbers = random.Random(11)
checks = 0


def expect(what, holds):
    global checks
    if not holds:
        sys.exit("WRONG: " + what)
    checks += 1


def weight(model, name, *dims):
    size = 1
    for dim in dims:
        size *= dim
    scale = 1 if len(dims) == 1 else (2 * dims[0] / size) ** 0.5
    return model.initializer(name, FLOAT, dims, [numbers.gauss(0, scale) for _ in range(size)])


def constant(model, name, dims, value):
    size = 1
    for dim in dims:
        size *= dim
    return model.initializer(name, FLOAT, dims, [value] * size)


def mlp(model):
    """Layer normalization, and a width that is not a multiple of a vector."""
    h = model.node("Gemm", [model.input("x", FLOAT, ["N", 20]), weight(model, "w1", 20, 37), weight(model, "b1", 37)],
                   ["h"], "fc1")
    h = model.node("LayerNormalization", [h, constant(model, "g", [37], 1.0), constant(model, "s", [37], 0.1)], ["n"],
                   "norm")
    h = model.node("Relu", [h], ["r"], "relu")
    model.output(model.node("Gemm", [h, weight(model, "w2", 37, CLASSES), weight(model, "b2", CLASSES)], ["logits"],
                            "fc2"), FLOAT, ["N", CLASSES])
    return [20], 'loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }'


def convolutions(model):
    """Batch statistics, pools, and channels that Winograd's transform supports. The simulated GPU is slow."""
    size, channels = (8, 32) if MODE == "cpu" else (4, 8)
    h = model.input("x", FLOAT, ["N", 3, size, size])
    for i, (before, after) in enumerate(((3, channels), (channels, channels)), 1):
        h = model.node("Conv", [h, weight(model, f"w{i}", after, before, 3, 3)], [f"c{i}"], f"conv{i}",
                       pads=[1, 1, 1, 1])
        h = model.node("BatchNormalization", [h, constant(model, f"g{i}", [after], 1.0 + i),
                                              constant(model, f"s{i}", [after], 0.1 + i),
                                              constant(model, f"m{i}", [after], 0.2 * i),
                                              constant(model, f"v{i}", [after], 1.0 * i)], [f"n{i}"], f"bn{i}")
        h = model.node("Relu", [h], [f"r{i}"], f"relu{i}")
    h = model.node("MaxPool", [h], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2])
    # Windows in the padding count fewer elements: a constant that repeats along rows and channels.
    h = model.node("AveragePool", [h], ["a"], "smooth", kernel_shape=[3, 3], pads=[1, 1, 1, 1])
    h = model.node("AveragePool", [h], ["q"], "mean", kernel_shape=[size // 2, size // 2])
    h = model.node("Flatten", [h], ["f"], "flat")
    model.output(model.node("Gemm", [h, weight(model, "w3", channels, CLASSES), weight(model, "b3", CLASSES)],
                            ["logits"], "fc"), FLOAT, ["N", CLASSES])
    return [3, size, size], 'loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }'


def batch_norm(model):
    """One number per row and channel: a single row has no variance."""
    h = model.node("Gemm", [model.input("x", FLOAT, ["N", 20]), weight(model, "w1", 20, CLASSES),
                            weight(model, "b1", CLASSES)], ["h"], "fc")
    statistics = [constant(model, name, [CLASSES], value) for name, value in (("g", 1.5), ("s", 0.1), ("m", 0.2),
                                                                              ("v", 2.0))]
    model.output(model.node("BatchNormalization", [h] + statistics, ["logits"], "bn"), FLOAT, ["N", CLASSES])
    return [20], 'loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }'


def mean_by_shape(model):
    """The exporter divides by the size of the batch, which it takes from a shape."""
    x = model.input("x", FLOAT, ["N", 20])
    y = model.node("MatMul", [x, weight(model, "w1", 20, CLASSES)], ["y"], "fc")
    one = model.initializer("one", INT64, [1], [0])
    n = model.node("Gather", [model.node("Shape", [x], ["shape"], "shape"), one], ["n"], "rows")
    n = model.node("Cast", [n], ["count"], "float", to=FLOAT)
    total = model.node("ReduceSum", [model.node("Mul", [y, y], ["squares"], "square")], ["total"], "sum", keepdims=0)
    loss = model.node("Div", [total, n], ["ratio"], "divide")
    scalar = model.initializer("scalar", INT64, [0], [])
    model.output(model.node("Reshape", [loss, scalar], ["loss"], "reshape"), FLOAT, [])
    model.output("y", FLOAT, ["N", CLASSES])
    return [20], 'loss { scalar: "loss" }'


def lookups(model):
    """Rows of a table: some indices count from the end, and NaN makes one that is out of range."""
    x = model.input("x", FLOAT, ["N", 20])
    five = constant(model, "five", [], 5.0)
    wide = model.node("Mul", [model.node("Tanh", [x], ["t"], "tanh"), five], ["wide"], "scale")
    i = model.node("Cast", [model.node("Floor", [wide], ["floor"], "floor")], ["i"], "index", to=INT64)
    outside = model.initializer("outside", INT64, [], [99])
    i = model.node("Where", [model.node("IsNaN", [x], ["nan"], "nan"), outside, i], ["checked"], "check")
    rows = model.node("Gather", [weight(model, "table", 5, CLASSES), i], ["rows"], "embed")
    h = model.node("ReduceSum", [rows, model.initializer("one", INT64, [1], [1])], ["sum"], "sum", keepdims=0)
    model.output(model.node("Add", [h, weight(model, "b", CLASSES)], ["logits"], "bias"), FLOAT, ["N", CLASSES])
    return [20], 'loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }'


def routing(model):
    """Each row selects two of five experts, and weights them by its scores for them."""
    x = model.input("x", FLOAT, ["N", 20])
    scores = model.node("MatMul", [x, weight(model, "router", 20, 5)], ["scores"], "router")
    best, experts = ["best", "experts"], model.initializer("two", INT64, [1], [2])
    model.node("TopK", [scores, experts], best, "choose")
    gates = model.node("Softmax", ["best"], ["gates"], "gates")
    nothing = model.node("Mul", [scores, constant(model, "zero", [], 0.0)], ["nothing"], "nothing")
    gates = model.node("ScatterElements", [nothing, "experts", gates], ["weights"], "spread", axis=1)
    model.output(model.node("MatMul", [gates, weight(model, "outputs", 5, CLASSES)], ["logits"], "mix"), FLOAT, ["N", CLASSES])
    return [20], 'loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }'


def numbered(model):
    """Indices number the rows, as PyTorch's exporters write masks and x[arange(n), j]: of all elements, and of the largest one."""
    x = model.input("x", FLOAT, ["N", 20])
    zero, one = model.initializer("zero", INT64, [], [0]), model.initializer("one", INT64, [], [1])
    n = model.node("Gather", [model.node("Shape", [x], ["shape"], "shape"), zero], ["n"], "rows")
    count = model.node("Range", [zero, n, one], ["count"], "count")
    rows = model.node("Unsqueeze", [count, model.initializer("behind", INT64, [2], [1, 2])], ["r"], "behind")
    columns = model.initializer("columns", INT64, [1, 20, 1], range(20))
    wide = model.node("Shape", [model.node("Max", [rows, columns], ["most"], "most")], ["wide"], "wide")
    both = [model.node("Expand", [i, wide], [f"expanded {name}"], name) for name, i in (("r", rows), ("c", columns))]
    seen = model.node("GatherND", [x, model.node("Concat", both, ["places"], "places", axis=2)], ["seen"], "see")
    last = model.initializer("last", INT64, [1], [1])
    row = model.node("Unsqueeze", [count, last], ["row"], "row")
    best = model.node("ArgMax", [x], ["best"], "best", axis=1, keepdims=1)
    top = model.node("GatherND", [x, model.node("Concat", [row, best], ["pair"], "pair", axis=1)], ["top"], "top")
    h = model.node("Add", [seen, model.node("Unsqueeze", [top, last], ["column"], "column")], ["h"], "add")
    model.output(model.node("MatMul", [h, weight(model, "w1", 20, CLASSES)], ["logits"], "fc"), FLOAT, ["N", CLASSES])
    return [20], 'loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }'


def steps_first(model):
    """Attention over steps that come before rows, as PyTorch's modules compute it: layers merge steps and rows, heads merge with rows."""
    steps, heads, width = 5, 3, 12
    split = [model.initializer(f"shape{i}", INT64, [len(dims)], dims) for i, dims in
             enumerate(([-1, steps, 4], [steps, -1, width // heads], [-1, width], [steps, -1, width]))]
    x = model.node("Reshape", [model.input("x", FLOAT, ["N", 20]), split[0]], ["rows"], "sequences")
    x = model.node("Transpose", [x], ["steps"], "steps", perm=[1, 0, 2])

    def layer(name):
        h = model.node("MatMul", [x, weight(model, f"w{name}", 4, width)], [f"m{name}"], f"layer{name}")
        h = model.node("Add", [h, weight(model, f"b{name}", width)], [f"a{name}"], f"bias{name}")
        h = model.node("Reshape", [h, split[1]], [f"h{name}"], f"heads{name}")
        return model.node("Transpose", [h], [f"t{name}"], f"turn{name}", perm=[1, 2, 0] if name == "k" else [1, 0, 2])

    scores = model.node("MatMul", [layer("q"), layer("k")], ["scores"], "scores")
    h = model.node("MatMul", [model.node("Softmax", [scores], ["p"], "softmax", axis=2), layer("v")], ["attention"], "attention")
    h = model.node("Reshape", [model.node("Transpose", [h], ["back"], "back", perm=[1, 0, 2]), split[2]], ["merged"], "merge")
    h = model.node("Gemm", [h, weight(model, "wo", width, width), weight(model, "bo", width)], ["o"], "out")
    h = model.node("Tanh", [model.node("Reshape", [h, split[3]], ["apart"], "apart")], ["tanh"], "tanh")
    h = model.node("ReduceSum", [h, model.initializer("first", INT64, [1], [0])], ["sum"], "sum", keepdims=0)
    model.output(model.node("Gemm", [h, weight(model, "w", width, CLASSES), weight(model, "b", CLASSES)], ["logits"], "fc"), FLOAT, ["N", CLASSES])
    return [20], 'loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }'


def repeated(model):
    """A parameter repeated for each row, whose heads are then merged with rows: the keys of relative positions of DeBERTa."""
    heads, x = 3, model.input("x", FLOAT, ["N", 20])
    n = model.node("Gather", [model.node("Shape", [x], ["shape"], "shape"), model.initializer("first", INT64, [1], [0])], ["n"], "rows")
    times = model.node("Concat", [n, model.initializer("once", INT64, [2], [1, 1])], ["times"], "times", axis=0)
    keys = model.node("Tile", [weight(model, "keys", heads, 4, 5), times], ["all"], "repeat")
    h = model.node("MatMul", [x, weight(model, "w1", 20, heads * 4)], ["q"], "query")
    h = model.node("Reshape", [h, model.initializer("split", INT64, [3], [-1, 1, 4])], ["queries"], "split")
    h = model.node("Tanh", [model.node("MatMul", [h, keys], ["scores"], "scores")], ["t"], "tanh")
    h = model.node("Reshape", [h, model.initializer("merge", INT64, [2], [-1, heads * 5])], ["merged"], "merge")
    model.output(model.node("MatMul", [h, weight(model, "w2", heads * 5, CLASSES)], ["logits"], "fc"), FLOAT, ["N", CLASSES])
    return [20], 'loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }'


def shared(model):
    """Indices that all rows share, and that a run computes, as DeBERTa's are: expanded to the rows, and checked once."""
    x = model.input("x", FLOAT, ["N", 20])
    places = model.node("Abs", [model.node("Tanh", [weight(model, "places", 1, 6)], ["t"], "tanh")], ["p"], "abs")
    places = model.node("Mul", [places, constant(model, "most", [], 19.0)], ["scaled"], "scale")
    indices = model.node("Cast", [places], ["i"], "index", to=INT64)
    n = model.node("Gather", [model.node("Shape", [x], ["shape"], "shape"), model.initializer("first", INT64, [1], [0])], ["n"], "rows")
    all = model.node("Concat", [n, model.initializer("six", INT64, [1], [6])], ["all"], "all", axis=0)
    h = model.node("GatherElements", [x, model.node("Expand", [indices, all], ["e"], "expand")], ["g"], "select", axis=1)
    model.output(model.node("MatMul", [h, weight(model, "w", 6, CLASSES)], ["logits"], "fc"), FLOAT, ["N", CLASSES])
    return [20], 'loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }'


def write_data(name, rows, shape):
    size = 1
    for dim in shape:
        size *= dim
    x = array.array("f", (numbers.gauss(0, 1) for _ in range(rows * size)))
    labels = array.array("q", (numbers.randrange(CLASSES) for _ in range(rows)))
    os.makedirs(path(name), exist_ok=True)
    write_npy(os.path.join(path(name), "x.npy"), x, [rows] + shape)
    write_npy(os.path.join(path(name), "labels.npy"), labels, [rows])
    return x, labels


# From a gradient that only consists of rounding errors, as for a bias before a norm, or that of keys before a softmax, Adam would
# make a whole step.
OPTIMIZERS = {"batch_norm": "sgd { learning_rate: 0.1 }", "steps_first": "sgd { learning_rate: 0.1 }"}


def build(name, batch, loss, emit="so", target=TARGET):
    stem = f"{name}-{batch}" if target == TARGET else f"{name}-{batch}-cpu"
    spec = path(stem + ".textproto")
    with open(spec, "w") as file:
        file.write(f"""model: "{name}.onnx"
{loss}
optimizer {{ {OPTIMIZERS.get(name, "adam { learning_rate: 0.01 }")} }}
clip {{ global_norm: 1.0 }}
data {{
  source {{ npy {{ field {{ name: "x"  path: "{name}/x.npy" }} field {{ name: "labels"  path: "{name}/labels.npy" }} }} }}
  stage {{ batch {{ size: {batch} }} }}
}}
epochs: 1
""")
    output = path(stem + (".so" if emit == "so" else ""))
    gradc("compile", spec, "-o", output, f"--emit={emit}", *target)
    return output


class StepResult(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("step", ctypes.c_int64), ("loss", ctypes.c_float),
                ("gradient_norm", ctypes.c_float), ("updated", ctypes.c_uint32)]


class StateInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_uint32),
                ("shape", ctypes.c_void_p), ("bytes", ctypes.c_uint64), ("kind", ctypes.c_int)]


class Rows(Session):
    """A session whose level is known, with calls on any number of rows."""

    def __init__(self, library):
        super().__init__(library)
        self.level = self.lib.gradc_session_level(self.session).decode()

    def step(self, inputs, rows, fails=False):
        """The loss and gradient norm of a step, or its message. NaN follows the rows of the inputs."""
        pointers = (ctypes.c_void_p * len(inputs))(*[one.buffer_info()[0] for one in inputs])
        result = StepResult(ctypes.sizeof(StepResult))
        message = self.call("train_step", self.session, pointers, len(inputs), ctypes.c_int64(rows), ctypes.c_float(0),
                            ctypes.byref(result), fails=fails)
        return message if fails else (result.loss, result.gradient_norm, result.updated)

    def run(self, entry, inputs, outputs, rows, fails=False):
        given = (ctypes.c_void_p * (len(inputs) + 1))(*[one.buffer_info()[0] for one in inputs], None)
        taken = (ctypes.c_void_p * len(outputs))(*[one and one.buffer_info()[0] for one in outputs])
        return self.call("run_rows", self.session, self.entry(entry), ctypes.c_int64(rows), given, len(inputs), taken,
                         len(outputs), fails=fails)

    def states(self):
        values = []
        for state in range(self.lib.gradc_state_count(self.session)):
            info = StateInfo(ctypes.sizeof(StateInfo))
            self.call("state_describe", self.session, state, ctypes.byref(info))
            value = array.array("f", bytes(info.bytes))
            self.call("state_get", self.session, state, ctypes.c_void_p(value.buffer_info()[0]), ctypes.c_uint64(info.bytes))
            values.append(value)
        return values


def rows_of(values, rows, width, filler):
    """The first rows, followed by filler up to one row more than the largest batch."""
    return values[:rows * width] + array.array(values.typecode, [filler] * ((BATCH + 1 - rows) * width))


def close(a, b):
    return all(abs(x - y) <= 2e-4 * max(1, abs(x)) for x, y in zip(a, b, strict=True))


nan = float("nan")


def check(name, make, counts):
    model = Model(name)
    shape, loss = make(model)
    model.save(path(name + ".onnx"))
    x, labels = write_data(name, 3 * BATCH + 6, shape)
    width = len(x) // len(labels)
    has_labels = "labels" in loss
    largest = build(name, BATCH, loss)

    def inputs(rows, filler=nan, label=1 << 40):
        return [rows_of(x, rows, width, filler)] + [rows_of(labels, rows, 1, label)] * has_labels

    for rows in counts:
        some = Rows(largest)
        expect(f"{name} runs at level {some.level}", some.level.startswith("cuda") == bool(TARGET))
        first = some.step(inputs(rows), rows)
        after = some.states()
        exact = Rows(largest if rows == BATCH and not TARGET else build(name, rows, loss, target=[]))
        expected = exact.step(inputs(rows), rows)
        expect(f"{name}: {rows} rows: {first}, expected {expected}", first[2] == 1 and close(first, expected))
        for found, state in zip(after, exact.states(), strict=True):
            expect(f"{name}: states after {rows} rows", close(found, state))
        # A whole batch of NaN leaves NaN in all memory except the states.
        dirty = Rows(largest)
        spoiled = dirty.step([array.array("f", [nan] * len(inputs(BATCH)[0]))] + inputs(BATCH)[1:], BATCH,
                             fails=name == "lookups")
        expect(f"{name}: NaN are not taken for numbers: {spoiled}",
               'node "embed": index' in spoiled if name == "lookups" else spoiled[2] == 0)
        again = dirty.step(inputs(rows), rows)
        expect(f"{name}: {rows} rows before NaN: {again}, expected {first}", again[:2] == first[:2])
        expect(f"{name}: states after {rows} rows before NaN",
               [s.tobytes() for s in dirty.states()] == [s.tobytes() for s in after])
    print(f"{name.replace('_', ' ')}: {', '.join(map(str, counts[:-1]))} and {counts[-1]} rows")
    return Rows(largest), x, labels, width


# 1. Steps on fewer rows.
some, x, labels, width = check("mlp", mlp, (1, 7, 63, 64))
check("convolutions", convolutions, (1, 7, 63, 64))
check("batch_norm", batch_norm, (2, 7, 63, 64))
check("mean_by_shape", mean_by_shape, (1, 7, 63, 64))
check("lookups", lookups, (1, 7, 63, 64))
check("routing", routing, (1, 63))
check("numbered", numbered, (1, 7, 63, 64))
check("steps_first", steps_first, (1, 7, 63, 64))
check("repeated", repeated, (1, 7, 63, 64))
check("shared", shared, (1, 7, 63, 64))

# 2. In inference, the results of a row depend neither on other rows nor on their number.
whole = array.array("f", [0.0] * BATCH * CLASSES)
some.run("forward", [x[:BATCH * width]], [whole], BATCH)
for rows in (1, 7, 64):
    few = array.array("f", [-7.0] * BATCH * CLASSES)
    some.run("forward", [rows_of(x, rows, width, nan)], [few], rows)
    expect(f"{rows} rows are as in a whole batch",
           few[:rows * CLASSES].tobytes() == whole[:rows * CLASSES].tobytes())
    expect("nothing is written behind them", set(few[rows * CLASSES:]) <= {-7.0})

# 3. Refused numbers of rows, and the name in the message.
for name in "forward", "train":
    message = some.run("forward", [x], [whole], BATCH + 1, fails=True) if name == "forward" else \
        some.step([x, labels], BATCH + 1, fails=True)
    expect(message, message == f"entry '{name}' takes 0 to 64 rows, found 65: compile it for a larger batch")
expect("the name of before", some.entry("train.tail").value == some.entry("train").value)
message = Rows(path("batch_norm-64.so")).step([x[:width], labels[:1]], 1, fails=True)
expect(message, message == "entry 'train' takes 2 to 64 rows, found 1: node \"bn\" divides by one less than it counts")

# 4. Data with one row more or fewer than at compile time, or with no rows for a last batch.
trainer = build("mlp", BATCH, 'loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }', "exe")
for rows, steps in ((3 * BATCH + 4, 4), (3 * BATCH + 6, 4), (3 * BATCH, 3), (2 * BATCH + 1, 3)):
    write_data("mlp", rows, [20])
    run(trainer, "--data-dir", folder, "--log", path("log.jsonl"), "--quiet")
    expect(f"{rows} rows are {steps} steps", len(events(path("log.jsonl"), "step")) == steps)

# 5. gradc run takes the number of rows of its inputs.
write_npy(path("seven.npy"), x[:7 * width], [7, 20])
gradc("run", path("mlp-64.so"), "--input", "x=" + path("seven.npy"), "--output-dir", path("out"))
with open(path("out/logits.npy"), "rb") as file:
    data = file.read()
expect(f"gradc run writes seven rows: {data[:128]}", b"(7, 10, )" in data[:128])
expect("they are those of a whole batch", data[-280:] == whole[:70].tobytes())
write_npy(path("many.npy"), x[:65 * width], [65, 20])
gradc("run", path("mlp-64.so"), "--input", "x=" + path("many.npy"), "--output-dir", path("out"))
with open(path("out/logits.npy"), "rb") as file:
    data = file.read()
expect(f"gradc run writes 65 rows: {data[:128]}", b"(65, 10, )" in data[:128])
expect("the first are those of a whole batch", data[-2600:-40] == whole[:640].tobytes())

# 6. A run computes indices that follow its rows. Code for a number that follows them takes whole batches alone.
def of_rows(name, op, operands, attributes={}):
    """y of x [N, 4], which is compiled for 8 rows, with "d", the rows less 4, as a list and as a number; then compiles it."""
    model = Model(name)
    x = model.input("x", FLOAT, ["N", 4])
    n = model.node("Shape", [x], ["n"], "shape", end=1)
    for value, elements in ("zero", [0]), ("one", [1]), ("four", [4]), ("eight", [8]), ("columns", [0, 1, 2, 3]):
        model.initializer(value, INT64, [len(elements)], elements)
    model.node("Sub", [n, "four"], ["d"], "less_four")
    model.node("Squeeze", ["d"], ["k"], "number")
    model.node("Sub", [n, "eight"], ["back"], "less_eight")
    model.node("Add", ["columns", "back"], ["last"], "last")
    model.output(model.node(op, [x, *operands], ["y", "places"][:1 + (op == "TopK")], "reader", **attributes), FLOAT, None)
    model.save(path(name + ".onnx"))
    gradc("compile", path(name + ".onnx"), "--shape", "x=8x4", "-o", path(name), "--one-bucket")
    said = subprocess.run([program("gradc"), "plan", path(name + ".onnx"), "--shape", "x=8x4"], capture_output=True, text=True)
    result = subprocess.run([program("gradc"), "run", path(name), "--input", "x=" + path("five.npy"), "--output-dir", path("few")],
                            capture_output=True, text=True)
    return said.stderr, result


if MODE == "cpu":
    five = array.array("f", range(20))
    write_npy(path("five.npy"), five, [5, 4])
    said, result = of_rows("last", "Gather", ["last"], {"axis": 1})
    expect(f"indices are those of 5 rows: {said}{result.stderr}", result.returncode == 0 and "takes no other number" not in said)
    with open(path("few/y.npy"), "rb") as file:
        values = list(read_npy(file.read())[1])
    expect(f"columns -3 to 0: {values}", values == [five[row * 4 + column] for row in range(5) for column in (1, 2, 3, 0)])
    for name, op, operands, attributes in (("cut", "Slice", ["zero", "d", "one"], {}), ("best", "TopK", ["d"], {}), ("upper", "Trilu", ["k"], {})):
        said, result = of_rows(name, op, operands, attributes)
        expect(f"{name} says why: {said}", 'entry "forward" takes no other number of rows than 8: node "reader" is compiled for a number that '
                                           'follows the rows' in said)
        expect(f"{name} refuses 5 rows: {result.stderr}", result.returncode != 0 and 'input "x": expected f32 [8, 4], found f32 [5, 4]' in result.stderr)

    # x[arange(n), last]: as numbers of elements of x.flatten(), which may be of other rows, it takes whole batches; by the places of the largest
    # elements of the rows, and by GatherElements, any rows.
    write_npy(path("five-places.npy"), array.array("q", [3] * 5), [5])
    for name in "flat", "largest", "gathered":
        model = Model(name)
        x = model.input("x", FLOAT, ["N", 4])
        for value, elements in ("all", [-1]), ("width", [4]), ("columns", [1]):
            model.initializer(value, INT64, [1], elements)
        for value, number in ("zero", 0), ("one", 1):
            model.initializer(value, INT64, [], [number])
        if name == "flat":
            last = model.input("places", INT64, ["N"])
        else:
            last = model.node("ArgMax", [x], ["places"], "places", axis=1, keepdims=int(name == "gathered"))
        if name != "gathered":
            count = model.node("Squeeze", [model.node("Shape", [x], ["n"], "shape", end=1)], ["count"], "count")
            starts = model.node("Mul", [model.node("Range", ["zero", count, "one"], ["i"], "range"), "width"], ["starts"], "starts")
            flat = model.node("Reshape", [x, "all"], ["elements"], "flatten")
            y = model.node("Gather", [flat, model.node("Add", [last, starts], ["numbers"], "numbers")], ["y"], "reader")
        else:
            y = model.node("Squeeze", [model.node("GatherElements", [x, last], ["taken"], "reader", axis=1), "columns"], ["y"], "squeeze")
        model.output(y, FLOAT, ["N"])
        model.save(path(name + ".onnx"))
        shapes = ["--shape", "x=8x4"] + ["--shape", "places=8"] * (name == "flat")
        gradc("compile", path(name + ".onnx"), *shapes, "-o", path(name), "--one-bucket")
        said = subprocess.run([program("gradc"), "plan", path(name + ".onnx"), *shapes], capture_output=True, text=True).stderr
        expect(f"{name} says why: {said}", ('node "numbers": note: entry "forward" takes no other number of rows than 8' in said) == (name == "flat"))
        places = ["--input", "places=" + path("five-places.npy")] * (name == "flat")
        result = subprocess.run([program("gradc"), "run", path(name), "--input", "x=" + path("five.npy"), *places, "--output-dir", path(name + "-5")],
                                capture_output=True, text=True)
        expect(f"{name} with 5 rows: {result.stderr}", (result.returncode == 0) == (name != "flat"))
    for name in "largest", "gathered":
        with open(path(name + "-5/y.npy"), "rb") as file:
            expect(f"{name} of 5 rows", list(read_npy(file.read())[1]) == [3, 7, 11, 15, 19])
print(f"all: {checks} checks")
