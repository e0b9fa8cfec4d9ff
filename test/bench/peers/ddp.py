"""PyTorch's DistributedDataParallel with gloo on one host, with one thread per process; one measurement, one JSON line:

    ddp.py --peer torch_cl --workload T3 [--ranks 2] [--seconds 4]

Each process takes its part of the workload's batch. `ms` is as in steps.py, of the first process.
"""
import argparse
import contextlib
import json
import os
import tempfile

import torch
import torch.distributed as distributed
import torch.multiprocessing as processes
from torch.nn.parallel import DistributedDataParallel

from peer_torch import Module, configure_compiler, make_step
from steps import Steps, measure
from workloads import WORKLOADS


def setup(a, rank):
    torch.set_num_threads(1)
    workload = WORKLOADS[a.workload]
    layout = torch.channels_last if "_cl" in a.peer else torch.contiguous_format
    module = DistributedDataParallel(Module(workload).to(memory_format=layout), gradient_as_bucket_view=True)
    x, labels = workload.batches()
    share = slice(rank * workload.shape[0] // a.ranks, (rank + 1) * workload.shape[0] // a.ranks)
    x = [torch.from_numpy(batch[share]).contiguous(memory_format=layout) for batch in x]
    labels = [torch.from_numpy(batch[share]).long() for batch in labels]
    compiled = configure_compiler(a.peer, None, False) if "compile" in a.peer else lambda function: function
    step, _ = make_step(workload, module, x, labels, contextlib.nullcontext(), compiled)
    return Steps(step, lambda loss: [float(loss)])


def work(rank, a, meeting):
    distributed.init_process_group("gloo", init_method=f"file://{meeting}", rank=rank, world_size=a.ranks)
    step = setup(a, rank)
    # All processes take the same number of steps, which the first one's clock determines.
    go_on = torch.ones(1)
    if rank == 0:
        def call(i):
            distributed.broadcast(go_on, 0)
            return step.call(i)
        found = measure(lambda: step._replace(call=call), a.seconds)
        go_on.zero_()
        distributed.broadcast(go_on, 0)
        print(json.dumps({"peer": a.peer, "workload": a.workload, "ranks": a.ranks} | found), flush=True)
    else:
        i = 0
        while distributed.broadcast(go_on, 0) or go_on:
            step.call(i)
            i += 1
    distributed.destroy_process_group()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", default="torch")
    parser.add_argument("--workload", default="T3")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=4)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="gradc-ddp-") as folder:
        processes.spawn(work, (arguments, os.path.join(folder, "meeting")), arguments.ranks)
