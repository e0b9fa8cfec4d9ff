"""Trainings by several processes, for bars and tests: the job, its start, and the process of each rank."""
import os
import shutil
import subprocess
import time

from bar import DIGITS, compile_spec, events, run

RANK = b"OMPI_COMM_WORLD_RANK="


def write_spec(folder, distribution, replaced=("distribution", "checkpoint", "export"), more=""):
    """The digits' spec with its data, for several processes. `distribution`: the content of that block; None for no such block."""
    for name in os.listdir(DIGITS):
        shutil.copy(os.path.join(DIGITS, name), folder)
    with open(os.path.join(DIGITS, "train.textproto")) as file:
        lines = [line for line in file.read().splitlines(True) if not line.startswith(replaced)]
    spec = os.path.join(folder, "ranks.textproto")
    with open(spec, "w") as file:
        file.write("".join(lines) + more)
        if distribution is not None:
            file.write(f"distribution {{ {distribution} }}\n")
    return spec


def digits_trainer(folder, distribution="stall_seconds: 3", **how):
    return compile_spec(write_spec(folder, distribution, **how), folder)


def mpi_environment():
    """The environment for running mpirun directly, as `--ranks` sets it."""
    settings = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none",
                "OMPI_MCA_btl_vader_single_copy_mechanism": "none"}
    if os.geteuid() == 0:
        settings |= {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    return os.environ | settings


def start(command, folder, **how):
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how)


def logs_of_ranks(trainer, folder, steps, counts=(1, 2, 3)):
    """The logs of a trainer's runs by so many ranks, each of `steps` steps."""
    for count in counts:
        log = os.path.join(folder, f"{count}.jsonl")
        run(trainer, "--ranks", count, "--steps", steps, "--log", log, "--checkpoint", os.path.join(folder, str(count)), cwd=folder)
        yield log


def losses(log):
    return [step["loss"] for step in events(log, "step")]


def ranks_of(launcher):
    """The process of each rank, by rank, among the launcher's descendants."""
    parents, ranks = {}, {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file:
                parents[int(name)] = int(file.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{name}/environ", "rb") as file:
                for entry in file.read().split(b"\0"):
                    if entry.startswith(RANK):
                        ranks[int(name)] = int(entry[len(RANK):])
        except (FileNotFoundError, ProcessLookupError, PermissionError):
            continue

    def is_ours(process):
        while process in parents:
            if process == launcher:
                return True
            process = parents[process]
        return False
    return {rank: process for process, rank in ranks.items() if is_ours(process)}


def wait_for_steps(training, checkpoints, count):
    """Waits until `count` checkpoints have been written."""
    seen = set()
    while len(seen) < count:
        assert training.poll() is None, training.communicate()[0]
        if os.path.isdir(checkpoints):
            seen |= {name for name in os.listdir(checkpoints) if name.startswith("step-")}
        time.sleep(0.01)
