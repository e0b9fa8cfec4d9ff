"""Makes reference_losses.json: the first losses of each training workload, and the mean squares of the inference workloads' outputs,
computed by PyTorch in f64 from the f32 weights and batches (in f32 if f64 would take many minutes). They check every measurement.

    make_references.py [WORKLOAD ...]
"""
import json
import os
import sys

import torch

import peer_torch
from workloads import WORKLOADS

PATH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "reference_losses.json")
SLOW_IN_F64 = {"T4", "T5", "T6", "T7"}


def losses(workload):
    dtype = torch.float32 if workload.name in SLOW_IN_F64 else torch.float64
    module = peer_torch.Module(workload).to(dtype)
    x, labels = workload.batches()
    x = [torch.from_numpy(batch).to(torch.int64 if workload.data == "tokens" else dtype) for batch in x]
    if not workload.training:
        with torch.no_grad():
            return [float((module.eval()(batch) ** 2).mean()) for batch in x]
    labels = [torch.from_numpy(batch).long() for batch in labels]
    step, _ = peer_torch.make_step(workload, module, x, labels, torch.autocast("cpu", enabled=False), lambda loss: loss)
    return [float(step(i)) for i in range(workload.steps)]


def main():
    for name in sys.argv[1:] or WORKLOADS:
        made = {name: losses(WORKLOADS[name])}
        print(name, made[name][0], made[name][-1], flush=True)
        references = {}
        if os.path.exists(PATH):
            with open(PATH) as file:
                references = json.load(file)
        references |= made
        with open(PATH, "w") as file:
            json.dump(references, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
