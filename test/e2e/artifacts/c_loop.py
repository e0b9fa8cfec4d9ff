"""Through the C ABI: kinds of steps by name and in turns have the trainer's bits; the caller sets rates of groups; and errors are reported.

    c_loop.py ROOT
"""
import array
import ctypes
import os
import re
import sys
import zipfile

ROOT = os.path.abspath(sys.argv[1])
sys.path.insert(0, os.path.join(ROOT, "test/e2e"))
from case import expect, folder
from bar import compile_spec, events, gradc, read_npy, report

GAN, LOOP = os.path.join(ROOT, "test/e2e/gan"), os.path.join(ROOT, "examples/own_loop")
BATCH, STEPS = 16, 24
text, number = ctypes.c_char_p, ctypes.c_int64


def struct(*fields):
    class Struct(ctypes.Structure):
        _fields_ = [("size", ctypes.c_size_t), *fields]

        def __init__(self, **values):
            super().__init__(size=ctypes.sizeof(type(self)), **values)
    return Struct


Rate = struct(("group", text), ("learning_rate", ctypes.c_float))
Options = struct(("entry", text), ("samples", number), ("learning_rate", ctypes.c_float), ("rates", ctypes.POINTER(Rate)), ("rate_count", ctypes.c_uint32), ("loss_scale", ctypes.c_float), ("momentum", ctypes.POINTER(ctypes.c_float)))
Query = struct(("entry", text), ("steps", number), ("epochs", number), ("run_steps", number), ("run_epochs", number))
Result = struct(("step", number), ("loss", ctypes.c_float), ("gradient_norm", ctypes.c_float), ("updated", ctypes.c_uint32), ("loss_scale", ctypes.c_float))


class Model:
    def __init__(self, spec):
        self.library = ctypes.CDLL(compile_spec(spec, folder, emit="so"))
        self.library.gradc_last_error.restype = text
        self.model, self.session = ctypes.c_void_p(), ctypes.c_void_p()
        self.library.gradc_open(None, ctypes.byref(self.model))
        self.renew()

    def renew(self):
        """Creates another session."""
        self.library.gradc_session_free(self.session)
        self.library.gradc_session_create(self.model, None, ctypes.byref(self.session))

    def step(self, data, status=0, **options):
        rates = options.pop("rates", {})
        array = (Rate * max(len(rates), 1))(*(Rate(group=group.encode(), learning_rate=rate) for group, rate in rates.items()))
        given = Options(rates=array, rate_count=len(rates), **options)
        pointers = (ctypes.c_void_p * len(data))(*(values.buffer_info()[0] for values in data))
        result = Result()
        found = self.library.gradc_train_step_with(self.session, ctypes.byref(given), pointers, len(data), ctypes.byref(result))
        expect(f"status {found}, {self.error()}", found == status)
        self.updated, self.scale = result.updated, result.loss_scale
        return result.loss

    def rate(self, status=0, of="learning_rate", **query):
        found = ctypes.c_float()
        given = getattr(self.library, f"gradc_{of}")(self.model, ctypes.byref(Query(**query)), ctypes.byref(found))
        expect(f"status {given}, {self.error()}", given == status)
        return found.value

    def error(self):
        return self.library.gradc_last_error().decode()

    def reset(self):
        self.library.gradc_state_reset(self.session)


# 1. Turns.
with zipfile.ZipFile(os.path.join(GAN, "gan.npz")) as file:
    arrays = [read_npy(file.read(f"{field}.npy")) for field in ("real", "noise", "share")]


def batch(step, names):
    rows = [values[step * BATCH % shape[0] * shape[1]:][:BATCH * shape[1]] for shape, values in arrays]
    return [rows[("real", "noise", "share").index(name)] for name in names]


log = os.path.join(folder, "gan.jsonl")
gradc("train", os.path.join(GAN, "gan.textproto"), "--steps", STEPS, "--log", log, "--quiet")
expected = [(step["entry"], step["loss"]) for step in events(log, "step")]
gan = Model(os.path.join(GAN, "gan.textproto"))
inputs = {"critic": ("noise", "real", "share"), "generator": ("noise",)}


def order(entry):
    """The entry's data inputs, in order."""
    Port = struct(("name", text), ("dtype", ctypes.c_int), ("rank", ctypes.c_uint32), ("shape", ctypes.c_void_p), ("bytes", ctypes.c_uint64),
                  ("role", ctypes.c_int), ("field", text), ("classes", number), ("batched", ctypes.c_uint32))
    index, names = ctypes.c_uint32(), []
    gan.library.gradc_entry_find(gan.session, f"train.{entry}".encode(), ctypes.byref(index))
    port, i = Port(), 0
    while gan.library.gradc_input_describe(gan.session, index, i, ctypes.byref(port)) == 0:
        names += [port.field.decode()] if port.role == 0 else []
        i += 1
    return names


orders = {entry: order(entry) for entry in inputs}
expect(f"entries take other fields than they need: {orders}", {entry: sorted(names) for entry, names in orders.items()} ==
       {entry: sorted(names) for entry, names in inputs.items()})
for names in (False, True):
    gan.reset()
    for i, (entry, loss) in enumerate(expected):
        found = gan.step(batch(i, orders[entry]), entry=entry.encode() if names else None)
        expect(f"step {i + 1} of {entry} has loss {found}", abs(found - loss) <= 1e-7 * abs(loss))
gan.step([], status=2, entry=b"critics")
expect(gan.error(), gan.error() == "the job has no train block 'critics', expected one of 'critic' and 'generator'")
expect("rates are not the blocks' own", [round(gan.rate(entry=entry), 6) for entry in (b"critic", b"generator")] == [0.002, 0.004])
gan.rate(status=2, entry=b"critics")
expect(gan.error(), gan.error() == "the job has no train block 'critics'")

# The whole job tells the callback which kind of step it was.
Report = struct(("step", number), ("epoch", number), ("loss", ctypes.c_float), ("learning_rate", ctypes.c_float), ("gradient_norm", ctypes.c_float),
                ("milliseconds", ctypes.c_double), ("input_milliseconds", ctypes.c_double), ("entry", text))
Callback = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Report), ctypes.c_void_p)
Train = struct(("steps", number), ("epochs", number), ("seed", ctypes.c_void_p), ("threads", ctypes.c_int32), ("level", text), ("data_folder", text),
               ("log", text), ("checkpoint", text), ("resume", text), ("export_onnx", text), ("progress", ctypes.c_uint32), ("on_step", Callback))
told = []
remember = Callback(lambda report, _: told.append(report.contents.entry.decode()) or 1)
status = gan.library.gradc_train(gan.model, ctypes.byref(Train(steps=7, data_folder=GAN.encode(), on_step=remember)), None)
expect(f"status {status}: steps of {told}", told == ["critic"] * 5 + ["generator", "critic"])

# 2. Rates of groups.
loop = Model(os.path.join(LOOP, "train.textproto"))
with zipfile.ZipFile(os.path.join(ROOT, "examples/digits/digits.npz")) as file:
    labels = read_npy(file.read("labels.npy"))[1][:32]

digits = [array.array("f", [((i * 37) % 16) / 16 for i in range(32 * 64)]), labels]


def losses(**options):
    loop.reset()
    return [loop.step(digits, **options) for _ in range(3)]


own = losses(learning_rate=0.01)
expect("a group's share is not its rate", losses(learning_rate=0.01, rates={"*.bias": 0.05}) == own)
expect("a group's rate changes nothing", losses(learning_rate=0.01, rates={"*.bias": 0.5})[1:] != own[1:])
expect("default rates are others", losses() == own)
loop.step(digits, status=2, rates={"fc1.*": 0.1})
expect(loop.error(), loop.error() == "the step trains no group whose first pattern is 'fc1.*'")
loop.step(digits, status=2, rates={"*.bias": -1})
expect(loop.error(), loop.error() == "the learning rate of group '*.bias' is -1, expected 0 or more")
loop.step(digits, status=2, entry=b"critic")
expect(loop.error(), loop.error() == "the job has no train block 'critic', expected no name: it has one kind of step")
loop.step(digits, status=2, loss_scale=1024)
expect(loop.error(), loop.error() == "the step takes no loss scale: its precision is not FP16")
found = [round(loop.rate(steps=step, run_steps=220), 6) for step in (0, 10, 20, 120, 220)]
expect(f"the schedule's rates are {found}", found == [0, 0.005, 0.01, 0.005, 0])
loop.rate(status=2, steps=120)
expect(loop.error(), loop.error() == "the schedule's cosine is as long as the run, and the job gives no number of steps: expected run_steps above 0")

# 3. A loss scale that overflows changes nothing; a smaller one does.
half = os.path.join(folder, "half.textproto")
with open(os.path.join(LOOP, "train.textproto")) as file, open(half, "w") as copy:
    copy.write(file.read().replace("../digits", os.path.join(ROOT, "examples/digits")) + "precision: FP16\n")
loop = Model(half)
updates = []
for scale in (2.0**60, 1024, 0):
    loop.step(digits, loss_scale=scale)
    updates.append(loop.updated)
expect(f"updates are {updates}", updates == [0, 1, 1])
loop.step(digits, status=2, loss_scale=-1)
expect(loop.error(), loop.error() == "the loss scale is -1, expected a number above 0")

# 4. The session's own scale is halved until nothing overflows, grows again, and is stored in checkpoints.
scaling = os.path.join(folder, "scaling.textproto")
with open(half) as file, open(scaling, "w") as copy:
    copy.write(file.read() + "loss_scaling { initial: 16777216 growth_interval: 5 }\n")


def scales(count):
    found = []
    for _ in range(count):
        loop.step(digits)
        found.append((loop.scale, loop.updated))
    return found


loop = Model(scaling)
first = scales(30)
overflows = [updated for _, updated in first].index(1)
expect(f"scales are {first}", overflows > 1 and [scale for scale, _ in first[:overflows + 1]] == [2.0**(24 - i) for i in range(overflows + 1)])
grown = [(b[0] / a[0], a[1]) for a, b in zip(first, first[1:])]
expect(f"scales grow and fall as {grown}", all(factor == 0.5 if not updated else factor in (1, 2) for factor, updated in grown) and (2, 1) in grown)
loop.step(digits, loss_scale=4)
expect("the caller's scale", loop.scale == 4 and loop.updated)
checkpoint = os.path.join(folder, "scaled.ckpt").encode()
expect(loop.error(), loop.library.gradc_checkpoint_save(loop.session, checkpoint) == 0)
rest = scales(10)
loop.renew()
expect(loop.error(), loop.library.gradc_checkpoint_load(loop.session, checkpoint) == 0)
expect("scales of a checkpoint", scales(10) == rest)
loop.reset()
expect("scales after a reset", scales(30) == first)

# 5. The momentum of a schedule that changes it; if the caller gives none, it is the optimizer's.
loop.step(digits, status=2, momentum=ctypes.pointer(ctypes.c_float(0.5)))
expect(loop.error(), loop.error() == "the step takes no momentum: the job's schedule does not change it")
loop.rate(status=2, of="momentum")
expect(loop.error(), loop.error() == "the job's schedule does not change the momentum")
cycled = os.path.join(folder, "cycled.textproto")
with open(half) as file, open(cycled, "w") as copy:
    copy.write(file.read().replace("warm_up { steps: 20 } cosine {}", "one_cycle { cycle_momentum: true base_momentum: 0.5 max_momentum: 0.9 rise: 0.5 }")
               .replace("precision: FP16\n", ""))
loop = Model(cycled)
found = [round(loop.rate(of="momentum", steps=step, run_steps=201), 4) for step in (0, 100, 200)]
expect(f"the schedule's momenta are {found}", found == [0.9, 0.5, 0.9])
losses = []
for given in {}, {"momentum": ctypes.pointer(ctypes.c_float(0.9))}, {"momentum": ctypes.pointer(ctypes.c_float(0))}:
    loop.reset()
    losses.append([loop.step(digits, **given) for _ in range(3)][-1])
expect(f"losses by momentum are {losses}", losses[0] == losses[1] != losses[2])
loop.step(digits, status=2, momentum=ctypes.pointer(ctypes.c_float(1)))
expect(loop.error(), loop.error() == "the momentum is 1, expected a number from 0 to below 1")
sequenced = os.path.join(folder, "sequenced.textproto")
with open(cycled) as file, open(sequenced, "w") as copy:
    copy.write(re.sub("one_cycle {.*?}", "sequence { part { until: 20 linear { start: 0.5 } } part { until: 120 constant {} } "
                      "part { linear { start: 1 end: 0 } } }", file.read()))
loop = Model(sequenced)
found = [round(loop.rate(steps=step, run_steps=220), 6) for step in (0, 10, 20, 120, 170, 220)]
expect(f"the rates of a sequence are {found}", found == [0.005, 0.0075, 0.01, 0.01, 0.005, 0])
loop.rate(status=2, steps=10)
expect(loop.error(), loop.error() == "the schedule's linear is as long as the run, and the job gives no number of steps: expected run_steps above 0")
report("c-loop: turns, names, rates of groups, the schedule's rates and momenta", True)
