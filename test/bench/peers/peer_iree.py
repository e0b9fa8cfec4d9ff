"""IREE: inference from the ONNX file; training from the StableHLO of JAX's whole step. Compiling counts as part of the start."""
import os
import subprocess
import sys
import tempfile

import iree.runtime
import jax
import numpy as np

import channels_last
import peer_jax
from onnx_export import write_onnx
from steps import Steps, mean_square
from workloads import BATCHES

FLAGS = ["--iree-hal-target-device=local", "--iree-hal-local-target-device-backends=llvm-cpu",
         "--iree-llvmcpu-target-cpu=host", "--iree-opt-data-tiling", "--iree-opt-level=O3"]


def tool(name, *arguments):
    command = [os.path.join(os.path.dirname(sys.executable), name), *arguments]
    return subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def write_source(workload, path):
    """The MLIR to compile, and its input type."""
    if workload.training:
        x, labels = workload.batches()
        step = jax.jit(peer_jax.make_step(workload))
        lowered = step.lower(peer_jax.initial_state(workload), channels_last.batch(workload, x[0]), labels[0])
        with open(path, "w") as file:
            file.write(str(lowered.compiler_ir("stablehlo")))
        return "stablehlo"
    write_onnx(workload, f"{path}.onnx")
    result = tool("iree-import-onnx", f"{path}.onnx", "-o", path, "--opset-version=17")
    if result.returncode:
        raise SystemExit(f"iree-import-onnx: {result.stderr[:1500]}")
    return "onnx"


def compile_module(workload, folder):
    module = os.path.join(folder, f"{workload.name}.vmfb")
    if os.path.exists(module):
        return module
    source = os.path.join(folder, f"{workload.name}.mlir")
    kind = write_source(workload, source)
    # Data tiling fails on some training steps, which have too large vectors: then without it.
    for flags in FLAGS, [flag for flag in FLAGS if "data-tiling" not in flag]:
        result = tool("iree-compile", source, "-o", module, f"--iree-input-type={kind}", *flags)
        if not result.returncode:
            return module
    raise SystemExit(f"iree-compile: {result.stderr[:1500]}")


def setup(peer, workload, threads, cache):
    path = compile_module(workload, cache or tempfile.mkdtemp(prefix="gradc-peers-iree-"))
    iree.runtime.flags.FUNCTION_INPUT_VALIDATION = False
    config = iree.runtime.Config("local-sync" if threads == 1 else "local-task")
    module = iree.runtime.load_vm_module(iree.runtime.VmModule.mmap(config.vm_instance, path), config)
    names = module.vm_module.function_names
    function = module[next(name for name in names if "$" not in name and name != "__init")]

    def put(array):
        return iree.runtime.asdevicearray(config.device, np.asarray(array, order="C"))

    x, labels = workload.batches()
    if not workload.training:
        x = [put(batch.astype(np.int64) if workload.data == "tokens" else batch) for batch in x]
        return Steps(lambda i: function(x[i % BATCHES]), lambda y: mean_square(y.to_host()), lambda y: y.to_host())

    x = [put(channels_last.batch(workload, batch)) for batch in x]
    labels = [put(batch) for batch in labels]
    box = [[put(leaf) for leaf in jax.tree.leaves(peer_jax.initial_state(workload))]]

    def call(i):
        *box[0], loss = function(*box[0], x[i % BATCHES], labels[i % BATCHES])
        return loss

    return Steps(call, lambda loss: [float(loss.to_host())], lambda loss: loss.to_host())
