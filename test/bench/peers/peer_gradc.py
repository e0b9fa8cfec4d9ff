"""gradc: the workload's ONNX file and spec, compiled to an executable. Three runs measure it:

`ms`        gradc-steps on the executable, with the batches in memory, as every peer has them
`job_ms`    the executable itself as a user runs it, reading batches and writing a log; losses and memory are this run's
`startup_s` process start to exit of a run of one step, median of five: an upper bound on the first step
"""
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time

from onnx_export import write_job
from workloads import ROOT

TARGET = ["--target=cuda:sm_90"] if os.environ.get("PEERS_DEVICE") == "cuda" else []
BIN = os.environ.get("GRADC_BIN", os.path.join(ROOT, "build/release/bin"))

os.environ["GRADC_CACHE_DIR"] = ""  # compiling is measured, too


def run(*command):
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    if result.returncode:
        raise SystemExit(next(iter(result.stderr.splitlines()), f"{command[0]}: exit code {result.returncode}"))
    return result.stdout


def compile_job(workload, folder):
    """(the executable, the seconds that gradc took)"""
    executable = os.path.join(folder, workload.name)
    spec = write_job(workload, folder)
    began = time.perf_counter()
    run(os.path.join(BIN, "gradc"), "compile", spec, "-o", executable, *TARGET)
    return executable, time.perf_counter() - began


def highest_memory(process):
    """In MB. Not wait4's figure, which includes the parent's memory at the fork."""
    with open(f"/proc/{process.pid}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def run_job(command, log, seconds, compared):
    """Runs until `seconds` have passed since the `compared` first steps; (milliseconds of each step, losses, memory in MB)."""
    process = subprocess.Popen([*command, "--steps", "1000000000", "--log", log])
    while process.poll() is None:
        time.sleep(0.05)
        if os.path.exists(log) and sum(1 for _ in open(log)) > compared + 1:
            break
    time.sleep(seconds)
    if process.poll() is not None:
        raise SystemExit(f"{command[0]}: exit code {process.returncode}")
    memory = highest_memory(process)
    process.send_signal(signal.SIGTERM)  # ends after the step under way
    process.wait()
    with open(log) as file:
        steps = [event for event in map(json.loads, file) if event["event"] == "step"]
    return [step["ms"] for step in steps], [step["loss"] for step in steps], memory


def median_of_chunks(times):
    chunk = max(1, int(50 / statistics.median(times)))
    return statistics.median(sum(times[i : i + chunk]) / chunk for i in range(0, max(1, len(times) - chunk + 1), chunk))


def measure(workload, threads, seconds, cache):
    folder = cache or tempfile.mkdtemp(prefix="gradc-peers-")
    executable, compiling = compile_job(workload, folder)
    command = [executable, "--data-dir", folder, "--threads", str(threads), "--quiet"]
    starts = []
    for _ in range(5):
        began = time.perf_counter()
        run(*command, "--steps", "1")
        starts.append(time.perf_counter() - began)
    log = os.path.join(folder, "log.jsonl")
    if os.path.exists(log):
        os.remove(log)
    times, losses, memory = run_job(command, log, seconds / 2, workload.steps)
    steps = json.loads(run(os.path.join(BIN, "gradc-steps"), executable, folder, "--threads", str(threads),
                           "--seconds", str(seconds), "--warm-up", str(workload.steps)))
    return {key: steps[key] for key in ("ms", "ms_p10", "ms_p90", "steps")} | {
        "job_ms": round(median_of_chunks(times[min(workload.steps, len(times) - 1):]), 5),
        "first_step_s": steps["first_step_s"],
        "startup_s": round(statistics.median(starts), 4),
        "compile_s": round(compiling, 2),
        "artifact_mb": round(os.path.getsize(executable) / 1e6, 2),
        "rss_mb": round(memory, 1),
        "before_mb": 0,  # the model is in the executable
        "losses": losses[: workload.steps],
    }
