"""Averages of the weights, exponential and equal: evaluation and exports use them instead of the weights, and checkpoints contain both. A run that resumes from a
checkpoint without averages starts them at its weights and says so.

    averages.py ROOT
"""
import os
import re
import struct
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/e2e")]
from case import folder, path
from bar import compile_spec, events, gradc, read_npy, read_safetensors, run, write_mlp_job

plain_spec = write_mlp_job(folder, (6, 8, 3), batch=4, batches=5)
with open(plain_spec) as file:
    text = file.read()
source = text[text.index("data {"):]
text += f"evaluation {{ {source} }}\nepochs: 2\n"


def compiled(name, more=""):
    with open(path(f"{name}.textproto"), "w") as file:
        file.write(text + more)
    return compile_spec(path(f"{name}.textproto"), folder)


def train(trainer, name, *options):
    """The last evaluation's loss, and the run's messages."""
    said = run(trainer, "--log", path(f"{name}.jsonl"), "--checkpoint", path(name), *options, cwd=folder)
    return events(path(f"{name}.jsonl"), "eval")[-1]["loss"], said


def weights(*arguments):
    """The values of a safetensors export, by name."""
    gradc("export", *arguments, "-o", path("w.safetensors"))
    return {name: struct.unpack(f"<{len(values) // 4}f", values) for name, (_, values) in read_safetensors(path("w.safetensors")).items()}


def logits(trainer, checkpoint):
    gradc("run", trainer, "--entry", "forward", "--checkpoint", path(checkpoint), "--input", f"x={path('x.npy')}", "--output-dir", folder)
    with open(path("logits.npy"), "rb") as file:
        return read_npy(file.read())[1]


def distance(a, b):
    return max(abs(x - y) for name in a for x, y in zip(a[name], b[name], strict=True))


plain, averaged = compiled("plain"), compiled("averaged", "ema { decay: 0.9 }\n")
live, _ = train(plain, "live")
mean, _ = train(averaged, "mean", "--export", path("mean.onnx"))

# 1. The steps are the same; evaluation differs.
losses = [[step["loss"] for step in events(path(log), "step")] for log in ("live.jsonl", "mean.jsonl")]
assert losses[0] == losses[1], losses
assert abs(live - mean) > 1e-4, (live, mean)

# 2. An export contains the averages under the names of the weights: from the run, from a checkpoint, and from both.
exported = weights(path("mean"))
assert list(exported) == ["fc1.weight", "fc1.bias", "fc2.weight", "fc2.bias"], list(exported)
assert distance(exported, weights(path("live"))) > 1e-4
assert weights(averaged, "--checkpoint", path("mean")) == exported
gradc("export", averaged, "--checkpoint", path("mean"), "-o", path("again.onnx"))
with open(path("mean.onnx"), "rb") as a, open(path("again.onnx"), "rb") as b:
    model = a.read()
    assert model == b.read()
for name, values in exported.items():
    assert struct.pack(f"<{len(values)}f", *values) in model, f"{name} is not exported"

# 3. A run that resumes from averages has the bits of an uninterrupted one.
train(averaged, "halves", "--steps", "5")
resumed, said = train(averaged, "halves", "--resume", "--epochs", "2")
assert resumed == mean and "averages" not in said, (resumed, mean, said)

# 4. From a checkpoint without averages, they start at its weights.
_, said = train(averaged, "begun", "--resume", path("live"), "--epochs", "3")
assert "the checkpoint has no averages of weights: they begin at its weights" in said, said
gradc("export", averaged, "--checkpoint", path("live"), "-o", path("w.onnx"))
assert weights(averaged, "--checkpoint", path("live")) == weights(path("live"))
assert distance({"logits": logits(averaged, "live")}, {"logits": logits(plain, "live")}) < 1e-6
assert distance({"logits": logits(averaged, "mean")}, {"logits": logits(plain, "live")}) > 1e-4

# 5. A trainer without averages reports the state that it lacks.
refused = subprocess.run([plain, "--resume", path("mean"), "--checkpoint", path("refused")], cwd=folder, text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.PIPE)
wanted = r"of another job: it averages weights \(ema or swa\), this artifact does not: this artifact has no state '.*\.ema'"
assert refused.returncode == 1 and re.search(wanted, refused.stderr), refused.stderr

# 6. Equal averages are the mean of the weights after steps 4, 7 and 10, and until step 4 the weights; a resume goes on with them.
equal = compiled("equal", "swa { begin: 4 every: 3 }\n")
lives = {}
for steps in (3, 4, 7, 10):
    train(plain, f"live{steps}", "--steps", str(steps))
    lives[steps] = weights(path(f"live{steps}"))


def mean_of(*steps):
    return {name: [sum(lives[k][name][i] for k in steps) / len(steps) for i in range(len(values))] for name, values in lives[3].items()}


loss, _ = train(equal, "whole")
assert distance(weights(path("whole")), mean_of(4, 7, 10)) < 1e-6
assert distance(weights(path("whole")), lives[10]) > 1e-4
for steps, averaged_steps in ((3, (3,)), (5, (4,)), (8, (4, 7))):
    train(equal, f"equal{steps}", "--steps", str(steps))
    assert distance(weights(path(f"equal{steps}")), mean_of(*averaged_steps)) < 1e-6, steps
resumed, _ = train(equal, "equal8", "--resume", "--epochs", "2")
assert resumed == loss and weights(path("equal8")) == weights(path("whole")), (resumed, loss)
by_steps, by_epochs = compiled("by_steps", "swa { begin: 5 every: 5 }\n"), compiled("by_epochs", "swa { unit: EPOCHS begin: 1 }\n")
train(by_steps, "steps"), train(by_epochs, "epochs")
assert weights(path("steps")) == weights(path("epochs"))
print(f"evaluated on weights {live:.4f}, on averages {mean:.4f}")
