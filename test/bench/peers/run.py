"""One measurement, one JSON line:  run.py --peer jax_scan --workload T1 [--threads 1] [--seconds 4] [--cache DIR] [--device cuda]

One thread: the process is bound to one CPU, and the libraries are told so. On a GPU nothing is bound.
"""
import argparse
import importlib
import json
import os
import sys

from steps import measure

# The first part of a peer's name is its module.
PEERS = ("torch torch_graph torch_compile torch_cl torch_compile_cl torch_bf16 torch_compile_bf16 torch_compile_max jax jax_scan tf tf_xla "
         "ort iree orttrain gradc").split()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", required=True, choices=PEERS)
    parser.add_argument("--workload", required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--cache", default="", help="folder of a compile cache that outlives the process; none without it")
    parser.add_argument("--device", default="cpu", choices=("cpu", "cuda"))
    a = parser.parse_args()
    os.environ["PEERS_DEVICE"] = a.device
    if a.threads == 1 and a.device == "cpu":
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(a.threads)
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
    if a.device == "cpu":
        os.environ.update(CUDA_VISIBLE_DEVICES="", JAX_PLATFORMS="cpu")

    from workloads import WORKLOADS  # after the variables, which NumPy reads

    workload = WORKLOADS[a.workload]
    module = importlib.import_module(f"peer_{a.peer.split('_')[0]}")
    if a.peer == "gradc":
        result = module.measure(workload, a.threads, a.seconds, a.cache)
    else:
        result = measure(lambda: module.setup(a.peer, workload, a.threads, a.cache), a.seconds, workload.steps)
    about = {"peer": a.peer, "workload": a.workload, "threads": a.threads, "title": workload.title, "gflop": workload.gflop}
    print(json.dumps(about | result))
    sys.stdout.flush()
    os._exit(0)  # the libraries' threads need not be waited for


if __name__ == "__main__":
    main()
