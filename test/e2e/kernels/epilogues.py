"""Trains perceptrons whose products have epilogues in the simulated cuBLASLt, and compares them with the CPU: epilogues.py FOLDER"""
import math
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bars"))
from bar import BIN, compile_spec, events, gradc, run, write_mlp_job

SIMULATED = {f"GRADC_LIB{name.upper()}": os.path.join(BIN, f"../test/gradc-simulated-{name}.so") for name in ("cuda", "cublaslt")}
# Rows of 40 and of 16 elements can be kept for the backward pass, of 37 they cannot.
WIDTHS = [24, 40, 37, 16, 10]


def job(folder, **attributes):
    os.makedirs(folder)
    return write_mlp_job(folder, WIDTHS, 32, 6, "Gelu", **attributes)


def losses(program, spec, **environment):
    log = f"{program}.jsonl"
    run(program, "--data-dir", os.path.dirname(spec), "--log", log, "--quiet", env=dict(os.environ, **environment))
    return [step["loss"] for step in events(log, "step")]


def follows(expected, found):
    return len(expected) == len(found) == 6 and all(math.isclose(e, f, rel_tol=1e-5) for e, f in zip(expected, found))


def library_calls(spec):
    """The kernels of a training step that run in cuBLASLt, without their numbers."""
    # Without ptxas the plan is quick.
    text = gradc("plan", spec, "--target=cuda:sm_90", "--libraries=always",
                 env=dict(os.environ, CUDA_HOME=os.path.dirname(spec), PATH=os.path.dirname(spec)))
    train = text[text.index("train:"):text.index("peak")]
    return [re.sub(r"(_\d+)+$", "", name) for name in re.findall(r" cublasLt +(\S+)", train)]


def main():
    folder = sys.argv[1]
    tanh, exact = job(os.path.join(folder, "tanh"), approximate="tanh"), job(os.path.join(folder, "exact"))
    calls = library_calls(tanh)
    expected = {"matmul_add_gelu": 2, "matmul_gelu_grad": 2}
    if {name: calls.count(name) for name in expected} != expected:
        sys.exit(f"expected {expected}, found {calls}")
    if any("gelu" in name for name in library_calls(exact)):
        sys.exit("the exact form is not the library's")
    wanted = losses(compile_spec(tanh, folder), tanh)
    gpu = os.path.join(folder, "gpu")
    for libraries, runs in ("always", "required"), ("always", "off"), ("never", "off"):
        gradc("compile", tanh, "-o", gpu, "--target=cuda:sm_90", "--llvm-image", f"--libraries={libraries}")
        found = losses(gpu, tanh, **SIMULATED, GRADC_LIBRARIES=runs)
        if not follows(wanted, found):
            sys.exit(f"compiled for libraries {libraries}, run with {runs}: {found} on the GPU, {wanted} on the CPU")
    # The comparison can fail: it tells the two forms of GELU apart.
    if follows(wanted, losses(compile_spec(exact, folder), exact)):
        sys.exit("the exact form passed for the tanh form")
    print(f"{len(calls)} library calls, GELU in {sum(expected.values())} of them")


main()
