"""Pruned parameters: after each step, exactly the elements are 0 that a reference masks, from the weights that the step began with; averages,
micro-batches, 16 bits and ranks keep the counts; the codes of quantized weights have the zeros; and a resumed run has the bits of an uninterrupted one.

    pruning.py ROOT
"""
import array
import math
import os
import struct
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/e2e"), os.path.join(ROOT, "test")]
from case import folder, path
from bar import compile_spec, events, gradc, program, read_safetensors, run, write_mlp_job, write_npy
from onnx_writer import FLOAT, Model, fields

WIDTHS, STEPS, STOP = (8, 16, 8, 3), 14, 8
SHAPES = {f"fc{i}.weight": shape for i, shape in enumerate(zip(WIDTHS, WIDTHS[1:]), 1)}  # [inputs, outputs]
FIRST, LAST, BEGIN, END, EVERY = 0.25, 0.75, 3, 12, 4  # of fc1: renewed at steps 3, 7, 11 and 12
GROUPS_AT, CHANNELS_AT = 5, 6
PRUNE = (f'prune {{ pattern: "fc1.weight"  initial_sparsity: {FIRST}  sparsity: {LAST}  begin_step: {BEGIN}  end_step: {END}  every: {EVERY} }}\n'
         f'prune {{ pattern: "fc2.weight"  keep: 2  of: 4  begin_step: {GROUPS_AT} }}\n'
         f'prune {{ pattern: "fc3.weight"  sparsity: 0.34  structure: CHANNELS  begin_step: {CHANNELS_AT} }}\n')  # a wildcard leaves it out

with open(write_mlp_job(folder, WIDTHS, batch=4, batches=5)) as file:
    text = file.read()


def compiled(name, more):
    with open(path(f"{name}.textproto"), "w") as file:
        file.write(f'{text}steps: {STEPS}\ncheckpoint {{ directory: "run"  every_steps: 1  keep: {STEPS} }}\n{more}')
    return compile_spec(path(f"{name}.textproto"), folder)


def train(trainer, name, *options):
    """The losses of the run's steps."""
    run(trainer, "--log", path(f"{name}.jsonl"), "--checkpoint", path(name), *options, cwd=folder)
    return [step["loss"] for step in events(path(f"{name}.jsonl"), "step")]


def weights(*arguments):
    """The values of a safetensors export, by name."""
    gradc("export", *arguments, "-o", path("w.safetensors"))
    return {name: struct.unpack(f"<{len(values) // 4}f", values) for name, (_, values) in read_safetensors(path("w.safetensors")).items()}


def codes(model, weight):
    """The codes of a weight in an exported model."""
    with open(model, "rb") as file:
        graph = next(value for number, value in fields(file.read()) if number == 7)
    tensors = (dict(fields(value)) for number, value in fields(graph) if number == 5)
    return next(tensor[9] for tensor in tensors if tensor[8].decode() == f"{weight}_quantized")


def zeros(values):
    return {name: {i for i, value in enumerate(values[name]) if value == 0} for name in SHAPES}


def smallest(scores, masked, count):
    """So many of the candidates: those that are masked, then those of smallest scores, the first of equal ones."""
    return sorted(scores, key=lambda i: (i not in masked, scores[i], i))[:count]


def masks(step, values, masked):
    """The masked elements of each weight after a step that began with these values and masks."""
    renewed = dict(masked)
    if step in (*range(BEGIN, END + 1, EVERY), END):
        left = (END - step) / (END - BEGIN)
        share = left * left * left * (FIRST - LAST) + LAST
        scores = {i: abs(value) for i, value in enumerate(values["fc1.weight"])}
        renewed["fc1.weight"] = set(smallest(scores, masked["fc1.weight"], math.floor(share * len(scores) + 0.5)))
    if step == GROUPS_AT:
        inputs, outputs = SHAPES["fc2.weight"]
        for column in range(outputs):
            for row in range(0, inputs, 4):
                scores = {r * outputs + column: abs(values["fc2.weight"][r * outputs + column]) for r in range(row, row + 4)}
                renewed["fc2.weight"] = renewed["fc2.weight"] | set(smallest(scores, set(), 2))
    if step == CHANNELS_AT:
        inputs, outputs = SHAPES["fc3.weight"]
        norms = {c: sum(values["fc3.weight"][r * outputs + c] ** 2 for r in range(inputs)) for c in range(outputs)}
        channels = smallest(norms, set(), math.floor(0.34 * outputs + 0.5))
        renewed["fc3.weight"] = {r * outputs + c for r in range(inputs) for c in channels}
    return renewed


pruned = compiled("pruned", PRUNE)
losses = train(pruned, "whole", "--export", path("whole.onnx"))

# 1. Every step has the masks of the reference.
masked = {name: set() for name in SHAPES}
before = weights(path("whole/step-1.ckpt"))
assert zeros(before) == masked
for step in range(2, STEPS + 1):
    masked = masks(step, before, masked)
    before = weights(path(f"whole/step-{step}.ckpt"))
    found = zeros(before)
    for name, wanted in masked.items():
        assert found[name] == wanted, (step, name, sorted(found[name]), sorted(wanted))
counts = {name: len(elements) for name, elements in masked.items()}
assert counts == {"fc1.weight": 96, "fc2.weight": 64, "fc3.weight": 8}, counts

# 2. A run that resumes between two renewals has the same bits, from the losses to the export.
begun = train(pruned, "halves", "--steps", STOP)
resumed = train(pruned, "halves", "--resume", "--steps", STEPS, "--export", path("resumed.onnx"))
assert begun == losses[:STOP] and resumed == losses, (begun, resumed, losses)  # the log goes on
with open(path("whole.onnx"), "rb") as a, open(path("resumed.onnx"), "rb") as b:
    assert a.read() == b.read()

# 3. Averages, which exports hold, have the zeros of the weights.
averaged = compiled("averaged", PRUNE + "ema { decay: 0.9 }\n")
assert train(averaged, "averaged-run") == losses
mean = weights(path("averaged-run"))
assert zeros(mean) == masked and mean != before

# 4. Steps in parts, in 16 bits, clipped, or of two ranks keep the counts.
for name, more, options in [("parts", "micro_batches: 2\n", ()), ("short", "precision: BF16\n", ()), ("clipped", "clip { global_norm: 0.5 }\n", ()),
                            ("shared", "distribution {}\n", ("--ranks", "2"))]:
    train(compiled(name, PRUNE + more), f"{name}-run", *options)
    found = {weight: len(elements) for weight, elements in zeros(weights(path(f"{name}-run"))).items()}
    assert found == counts, (name, found)

# 5. Weights in codes have the zeros: of elements, of groups and of channels.
train(compiled("quantized", PRUNE + "quantize {}\n"), "quantized-run", "--export", path("quantized.onnx"))
held = zeros(weights(path("quantized-run")))
assert {name: len(elements) for name, elements in held.items()} == counts, held
for name, elements in held.items():
    found = codes(path("quantized.onnx"), name)
    assert len(found) == math.prod(SHAPES[name]) and not any(found[i] for i in elements), (name, found, sorted(elements))
    assert any(found), name

# 6. Checkpoints with and without masks are told apart.
plain = compiled("plain", "")
train(plain, "plain-run")
for trainer, resumes, wanted in [(plain, "whole", "of another job: it prunes parameters (prune), this artifact does not prune this one"),
                                 (pruned, "plain-run", "of another job: it did not prune 'fc1.weight', which this artifact prunes")]:
    refused = subprocess.run([trainer, "--resume", path(resumes), "--checkpoint", path("refused")], cwd=folder, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert refused.returncode == 1 and wanted in refused.stderr, refused.stderr

# 7. An evaluation is the best one only once the masks are final, though those before are better.
evaluation = text[text.index("data {"):].replace("data {", "evaluation { every_steps: 1  data {", 1).rstrip() + " }\n"
judged = compiled("judged", PRUNE.replace('"fc1.weight"', '"fc?.weight"', 1) + evaluation)
train(judged, "judged-run", "--export", path("judged.onnx"))
best = min((event for event in events(path("judged-run.jsonl"), "eval") if event["step"] >= END), key=lambda event: event["loss"])
assert events(path("judged-run.jsonl"), "done")[0]["best_step"] == best["step"], best
share = {name: len(elements) / math.prod(SHAPES[name]) for name, elements in zeros(weights(path("judged-run/best.ckpt"))).items()}
assert all(abs(found - LAST) < 0.05 for found in share.values()), share

# 8. A run that ends before says what it exports; the compiler has said so if it knows the steps.
said = run(judged, "--steps", END - 1, "--checkpoint", path("ended-run"), "--export", path("ended.onnx"), cwd=folder)
assert "exported the last states (pruning lasts 1 more step, and evaluations before its end are never the best)" in said, said
with open(path("late.textproto"), "w") as file:
    file.write(f"{text}steps: {END - 1}\n{PRUNE}{evaluation}")
warned = subprocess.run([program("gradc"), "check", path("late.textproto")], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
assert warned.returncode == 0 and f"the last pruning is at step {END}, but the run ends at step {END - 1}" in warned.stderr, warned.stderr

# 9. Where blocks take turns, a parameter is pruned in those that train it: the third of "rest" is step 12.
turns = 'train { name: "first"  steps: 3  trains: "fc1.*" } train { name: "rest"  trains: "fc2.*"  trains: "fc3.*" }\n'
gradual = 'prune { pattern: "fc2.weight"  sparsity: 0.5  end_step: 3  every: 1 }\n'
turned = compiled("turns", gradual + turns + evaluation)


def zeros_of(name, steps=STEPS):
    """The number of zeros in fc2.weight after each step."""
    return {step: len(zeros(weights(path(f"{name}/step-{step}.ckpt")))["fc2.weight"]) for step in range(1, steps + 1)}


train(turned, "turns-run")
found, size = zeros_of("turns-run"), math.prod(SHAPES["fc2.weight"])
assert found[7] == 0 and 0 < found[8] == found[11] < found[12] == found[STEPS] == size // 2, found
assert events(path("turns-run.jsonl"), "best")[0]["step"] == 12

# 10. What counts are the steps that trained it, also those before a resume with other turns: the third of "rest" is then step 10.
train(turned, "other-run", "--steps", STOP)
train(compiled("other", gradual + turns.replace('name: "rest"', 'name: "rest"  steps: 3') + evaluation), "other-run", "--resume")
found = zeros_of("other-run")
assert 0 < found[8] == found[9] < found[10] == found[STEPS] == size // 2, found
assert events(path("other-run.jsonl"), "best")[0]["step"] == 10

# 11. Skipped steps do not count, neither before the masks are final nor, after a resume, later.
huge = compiled("skips", gradual + turns + evaluation + "precision: FP16  loss_scaling { initial: 16777216  growth_interval: 3 }\n")
MORE = 40
train(huge, "skips-run", "--steps", MORE)
skipped = {event["step"] for event in events(path("skips-run.jsonl"), "skipped")}
trained = [step for step in range(4, MORE + 1, 4) if step not in skipped]
assert 4 in skipped and max(skipped) > trained[2], (skipped, trained)
best = [event["step"] for event in events(path("skips-run.jsonl"), "best")]
assert best[0] == trained[2], (best, skipped)
for stop in trained[2], *(step for step in sorted(skipped) if step > trained[2]):
    train(huge, f"skips-{stop}", "--steps", stop)
    train(huge, f"skips-{stop}", "--steps", MORE, "--resume")
    found = [event["step"] for event in events(path(f"skips-{stop}.jsonl"), "best")]
    assert found == best, (stop, found, best)

# 12. Each group of a ConvTranspose has channels of its own; all of them compete. [inputs, channels of a group, 3, 3], by groups:
shapes = {"grouped": ([4, 3, 3, 3], 2), "single": ([6, 1, 3, 3], 6)}
values = {name: [((37 * i + 11) % 101 - 50.5) / 100 for i in range(math.prod(shape))] for name, (shape, _) in shapes.items()}
model = Model("groups", opset=17)
value = model.input("x", FLOAT, ["N", 4, 3, 3])
for name, (shape, groups) in shapes.items():
    value = model.node("ConvTranspose", [value, model.initializer(name, FLOAT, shape, values[name])], [f"{name}.out"], name=name, group=groups)
value = model.node("Flatten", [model.node("GlobalAveragePool", [value], ["pooled"])], ["flat"])
model.output(model.node("MatMul", [value, model.initializer("head", FLOAT, [6, 3], [(i % 5 - 2) / 4 for i in range(18)])], ["logits"]), FLOAT, ["N", 3])
model.save(path("groups.onnx"))
write_npy(path("pictures.npy"), array.array("f", ((13 * i) % 17 / 8 - 1 for i in range(4 * 36))), [4, 4, 3, 3])
write_npy(path("classes.npy"), array.array("q", [0, 1, 2, 1]), [4])
job = """model: "groups.onnx"  steps: 1  optimizer { sgd { learning_rate: 1e-3 } }
loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }
data { source { npy { field { name: "x"  path: "pictures.npy" } field { name: "labels"  path: "classes.npy" } } } stage { batch { size: 4 } } }
"""
with open(path("groups.textproto"), "w") as file:
    file.write(job + 'prune { pattern: "grouped"  pattern: "single"  sparsity: 0.5  structure: CHANNELS }\n')
train(compile_spec(path("groups.textproto"), folder), "groups-run")
found = weights(path("groups-run"))
for name, (shape, groups) in shapes.items():
    inputs, channels, size = shape[0] // groups, shape[1], 9
    places = {(group, channel): {((group * inputs + i) * channels + channel) * size + k for i in range(inputs) for k in range(size)}
              for group in range(groups) for channel in range(channels)}
    norms = {at: sum(values[name][i] ** 2 for i in elements) for at, elements in places.items()}
    wanted = set().union(*(places[at] for at in smallest(norms, set(), len(norms) // 2)))
    assert {i for i, value in enumerate(found[name]) if value == 0} == wanted, name

# 13. N:M groups are of the inputs of one group.
with open(path("uneven.textproto"), "w") as file:
    file.write(job + 'prune { pattern: "single"  keep: 1  of: 2 }\n')
refused = subprocess.run([program("gradc"), "check", path("uneven.textproto")], text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
assert refused.returncode and 'parameter "single" of [6, 1, 3, 3] has 1 inputs per group, dim 0, which of: 2 does not divide' in refused.stderr, refused.stderr
print(f"pruned {counts}")
