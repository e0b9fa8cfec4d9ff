"""What a spec's pipeline does not go with, each with its message.

    stage_errors.py FOLDER    FOLDER holds alone.textproto and its data
"""
import os
import re
import subprocess
import sys

folder = sys.argv[1]
with open(os.path.join(folder, "alone.textproto")) as file:
    ALONE = file.read()

CASES = [
    ("distribution { strategy: PIPELINE  stages: 1 }", "expected from 2 to 64 stages, found 1"),
    ("distribution { strategy: PIPELINE  stages: 65 }", "expected from 2 to 64 stages, found 65"),
    ("distribution { stages: 3 }", "expected strategy: PIPELINE beside stages, found stages: 3"),
    ("distribution { strategy: PIPELINE  stages: 64 }", "expected at least one op for each of 64 stages, found "),
    ("distribution { strategy: PIPELINE  synchronize_batch_norm: true }", "expected no synchronize_batch_norm beside strategy: PIPELINE"),
    ("distribution { strategy: PIPELINE  wire: BF16 }", "expected wire: F32 beside strategy: PIPELINE"),
    ("group { pattern: \"*weight*\"  frozen_until_step: 3 } distribution { strategy: PIPELINE }",
     "expected no frozen_until_step beside strategy: PIPELINE, found frozen_until_step: 3"),
    ("watch { pattern: \"*\"  gradients: true } distribution { strategy: PIPELINE }", "expected no watch { gradients } beside strategy: PIPELINE"),
    ("distribution { data_parallel: true }", "expected strategy: PIPELINE or TENSOR beside data_parallel, found strategy: MIRRORED"),
    ("micro_batches: 32 distribution { strategy: PIPELINE  data_parallel: true }",
     "beside distribution, expected a batch.size of at least 2 rows for each of the 32 parts"),
    ("distribution { strategy: PIPELINE  servers: 1 }", "expected strategy: PARAMETER_SERVER beside servers, found servers: 1"),
    ("distribution { strategy: PIPELINE  staleness: 1 }", "expected strategy: PARAMETER_SERVER beside staleness, found strategy: PIPELINE"),
]


def expect(text, expected):
    spec = os.path.join(folder, "refused.textproto")
    with open(spec, "w") as file:
        file.write(text)
    done = subprocess.run(["gradc", "plan", spec], capture_output=True, text=True)
    assert done.returncode == 3 and expected in done.stderr, f"expected '{expected}', found {done.returncode}:\n{done.stdout[-500:]}{done.stderr}"


for more, message in CASES:
    expect(ALONE + more + "\n", message)
PIPELINE = "distribution { strategy: PIPELINE }\n"
expect(ALONE.replace("drop_remainder: true", "") + PIPELINE, "expected batch { drop_remainder: true } beside strategy: PIPELINE")
blocks = re.sub(r"(?m)^optimizer .*\n", "", ALONE)
loss = "loss { softmax_cross_entropy { logits: \"logits\"  labels: \"labels\" } } optimizer { sgd { learning_rate: 0.1 } }"
blocks += "".join(f"train {{ name: \"{name}\" {loss} }}\n" for name in ("a", "b"))
expect(blocks + PIPELINE, "expected at most one train block beside strategy: PIPELINE, found 2")
