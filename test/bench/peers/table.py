"""Interleaved rounds of measurements (each peer once per round) and their table. Needs only Python's standard library: the peers run in the
environments of PEERS_PY and PEERS_PY_ORT.
"""
import json
import os
import shutil
import statistics
import subprocess
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TRAINING = ["torch", "torch_compile", "jax", "tf", "tf_xla", "orttrain"]
CHANNELS_LAST = ["torch_cl", "torch_compile_cl"]
INFERENCE = ["ort", "iree", "torch", "torch_compile", "jax", "tf_xla"]
PEERS = {  # in the order in which they run
    "T1": TRAINING + ["jax_scan", "iree", "gradc"],
    "T2": TRAINING + ["jax_scan", "iree", "gradc"],
    "T3": TRAINING + CHANNELS_LAST + ["iree", "gradc"],
    "T4": TRAINING + CHANNELS_LAST + ["gradc"],
    "T5": TRAINING + CHANNELS_LAST + ["gradc"],
    "T6": TRAINING + ["iree", "gradc"],
    "T7": ["torch", "torch_compile", "jax", "tf", "tf_xla", "gradc"],
    "I1a": INFERENCE, "I1b": INFERENCE, "I2": INFERENCE + CHANNELS_LAST, "I3": INFERENCE,
}
# Its SGD has neither momentum nor weight decay and so does less work than the others: it is listed but not compared.
UNEQUAL = {("T3", "orttrain"), ("T4", "orttrain"), ("T5", "orttrain")}
MODULES = {"torch": "torch", "jax": "jax", "tf": "tensorflow", "ort": "onnxruntime", "iree": "iree.compiler",
           "orttrain": "onnxruntime.training", "gradc": "numpy"}


class Rounds:
    """Measures workloads at thread counts. Every result stays in `results`, and is appended to `log` if there is one."""

    def __init__(self, python, python_ort, seconds, timeout=300, log=None):
        self.python, self.python_ort, self.seconds, self.timeout, self.log = python, python_ort, seconds, timeout, log
        self.results = []
        with open(os.path.join(HERE, "reference_losses.json")) as file:
            self.references = json.load(file)
        self.caches = tempfile.mkdtemp(prefix="gradc-peers-cache-")

    def close(self):
        shutil.rmtree(self.caches, ignore_errors=True)

    def python_of(self, peer):
        return self.python_ort if peer == "orttrain" else self.python

    def is_installed(self, peer):
        module = MODULES[peer.split("_")[0]].split(".")[0]
        found = f"import sys, importlib.util as u; sys.exit(not u.find_spec({module!r}))"
        python = self.python_of(peer)
        return bool(python) and not subprocess.run([python, "-c", found]).returncode

    def run(self, workload, threads, peers, number):
        """One round. Compile caches are empty in round 0 and kept for the later ones."""
        for peer in peers:
            for count in threads:
                result = self.measure(peer, workload, count, number)
                self.results.append(result)
                if self.log:
                    with open(self.log, "a") as file:
                        file.write(json.dumps(result) + "\n")
                what = f"{result['ms']:.4g} ms" if "ms" in result else f"FAILED: {result['error']}"
                print(f"{workload} round {number + 1}, {count} thread{'s' * (count > 1)}, {peer}: {what}", flush=True)

    def measure(self, peer, workload, threads, number):
        cache = os.path.join(self.caches, f"{peer}-{workload}-{threads}")
        os.makedirs(cache, exist_ok=True)
        command = [self.python_of(peer), os.path.join(HERE, "run.py"), "--peer", peer, "--workload", workload,
                   "--threads", str(threads), "--seconds", str(self.seconds), "--cache", cache]
        base = {"peer": peer, "workload": workload, "threads": threads, "round": number, "load": os.getloadavg()[0],
                "at": time.strftime("%H:%M:%S")}
        try:
            ran = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, timeout=self.timeout)
        except subprocess.TimeoutExpired:
            return base | {"error": f"no result within {self.timeout} s"}
        if ran.returncode:
            messages = ran.stderr.replace(f"{cache}/", "").strip().splitlines() or [f"exit code {ran.returncode}"]
            return base | {"error": messages[-1][:200]}
        result = json.loads(ran.stdout.strip().splitlines()[-1])
        pairs = zip(result["losses"], self.references[workload])
        return base | result | {"loss_error": max(abs(a - b) / abs(b) for a, b in pairs)}


def summarize(results):
    """One row per (workload, threads, peer), the fastest first, failed ones last. `memory_mb` is what the model adds to the process."""
    groups = {}
    for result in results:
        groups.setdefault((result["workload"], result["threads"], result["peer"]), []).append(result)
    rows = []
    for (workload, threads, peer), group in groups.items():
        row = {"workload": workload, "threads": threads, "peer": peer}
        measured = [result for result in group if "ms" in result]
        # If one round fails, the peer counts as failed: the other rounds would be the lucky ones.
        failed = [result["error"] for result in group if "ms" not in result]
        if failed:
            rows.append(row | {"error": failed[0]})
            continue
        times = [result["ms"] for result in measured]
        rows.append(row | {
            "title": measured[0]["title"], "gflop": measured[0]["gflop"], "ms": statistics.median(times),
            "spread": max(times) / min(times) - 1, "start_s": measured[0]["startup_s"],
            "memory_mb": max(result["rss_mb"] - result["before_mb"] for result in measured),
            "job_ms": statistics.median([result.get("job_ms", result["ms"]) for result in measured]),
            "loss_error": max(result["loss_error"] for result in measured)})
    return sorted(rows, key=lambda row: (row["workload"], row["threads"], row.get("ms", float("inf"))))


def compared(rows):
    """The rows that gradc is compared with: peers that were measured, do the same work in f32, and get the workload's losses."""
    return [row for row in rows if "ms" in row and row["peer"] != "gradc" and "bf16" not in row["peer"]
            and (row["workload"], row["peer"]) not in UNEQUAL and row["loss_error"] < 1e-3]


def format_table(rows, peak):
    """`peak`: GFLOP/s of FMA by number of threads."""
    lines = ["| workload | threads | peer | ms/step | of gradc's | share of peak | spread | start s | memory MB | loss error |",
             "|---|---|---|---|---|---|---|---|---|---|"]
    ours = {(row["workload"], row["threads"]): row["ms"] for row in rows if row["peer"] == "gradc" and "ms" in row}
    for row in rows:
        head = f"| {row['workload']} | {row['threads']} | {row['peer']} |"
        if "ms" not in row:
            lines.append(f"{head} FAILED: {row['error']} | | | | | | |")
            continue
        own = ours.get((row["workload"], row["threads"]))
        ratio = f"{row['ms'] / own:.2f}x" if own else "-"
        less = " (less work)" if (row["workload"], row["peer"]) in UNEQUAL else ""
        share = f"{row['gflop'] / row['ms'] * 1e3 / peak[row['threads']]:.0%}" if row["threads"] in peak else "-"
        lines.append(f"{head} {row['ms']:.4g}{less} | {ratio} | {share} | {row['spread']:.0%} | {row['start_s']:.3g} | "
                     f"{row['memory_mb']:.4g} | {row['loss_error']:.0e} |")
    return "\n".join(lines)
