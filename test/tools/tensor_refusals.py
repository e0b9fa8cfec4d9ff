"""What a spec may not say beside strategy: TENSOR, each refused with its reason.

    tensor_refusals.py FOLDER   with train.textproto of the digits
"""
import os
import subprocess
import sys

folder = sys.argv[1]
TWO = "strategy: TENSOR ranks: 2"
BESIDE = "beside strategy: TENSOR"
REFUSED = (
    ("strategy: TENSOR", "", "beside strategy: TENSOR, ranks from 1 to 4096, found 0"),
    ("strategy: TENSOR ranks: 5000", "", "ranks from 1 to 4096, found 5000"),
    ("ranks: 2", "", "expected strategy: TENSOR beside ranks, found strategy: MIRRORED"),
    (f"{TWO} wire: BF16", "", f"expected no wire: BF16 {BESIDE}: what ranks sum are activations"),
    (f"{TWO} synchronize_batch_norm: true", "", f"expected no synchronize_batch_norm {BESIDE}: each rank has all rows"),
    (f"{TWO} servers: 1", "", "expected strategy: PARAMETER_SERVER beside servers, found servers: 1"),
    (TWO, "micro_batches: 2", f"expected no micro_batches {BESIDE}"),
    (TWO, "watch { every: 2 }", f"expected no watch {BESIDE}: no rank has a whole parameter"),
)
with open(os.path.join(folder, "train.textproto")) as file:
    spec = file.read()
for distribution, more, expected in REFUSED:
    name = os.path.join(folder, "refused.textproto")
    with open(name, "w") as file:
        file.write(f"{spec}\n{more}\ndistribution {{ {distribution} }}\n")
    done = subprocess.run(["gradc", "check", name], capture_output=True, text=True)
    assert done.returncode == 3 and expected in done.stderr, f"{expected}: {done.returncode}\n{done.stderr}"
