"""Counts a GPU's launches of training steps with many parameters: launches.py FOLDER"""
import math
import os
import re
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../bars"))
from bar import BIN, compile_spec, events, gradc, run, write_mlp_job

# number, flops, bytes, blocks, who, kernel
LAUNCH = re.compile(r"\s+\d+\s+\d+\s+[\d.]+ \S+\s+\d+\s+(generated|cublasLt)\s+(\S+)")
DRIVER = {"GRADC_LIBCUDA": os.path.join(BIN, "../test/gradc-simulated-cuda.so")}


def job(folder, layers, clip, growth=4):
    """A perceptron of `layers` layers, each `growth` units wider than the previous one, so that no two kernels are equal."""
    os.makedirs(folder)
    spec = write_mlp_job(folder, [16 + growth * i for i in range(layers + 1)], 32, 4)
    if clip:
        with open(spec, "a") as file:
            file.write("clip { global_norm: 0.5 }\n")
    return spec


def step(spec):
    """The number of kernels merged into each launch of a step, in order."""
    # Without ptxas the plan is quick.
    text = gradc("plan", spec, "--target=cuda:sm_90", "--libraries=always",
                 env=dict(os.environ, CUDA_HOME=os.path.dirname(spec), PATH=os.path.dirname(spec)))
    train = text[text.index("train:"):text.index("peak")]
    kernels = [match.group(2) for match in map(LAUNCH.match, train.splitlines()) if match]
    assert len(kernels) == int(train.split()[1]), train
    # Of 24 nodes and more, a few are named.
    assert re.search(r" \+ \d+ more\s*$", train), train
    more = [re.search(r"_and_(\d+)_more", kernel) for kernel in kernels]
    return [1 + int(match.group(1)) if match else 1 for match in more]


def code_size(spec):
    """The number of bytes of PTX of all kernels."""
    out = os.path.join(os.path.dirname(spec), "kernels.ptx")
    gradc("compile", spec, "-o", out, "--target=cuda:sm_90", "--emit=asm")
    return os.path.getsize(out)


def expect(what, found, expected):
    if found != expected:
        sys.exit(f"{what}: expected {expected}, found {found}")


def follow(spec, folder):
    """Losses and norms on the simulated GPU equal the CPU's."""
    gpu = os.path.join(folder, "gpu")
    gradc("compile", spec, "-o", gpu, "--target=cuda:sm_90", "--llvm-image")
    logs = []
    for program, environment in (compile_spec(spec, folder), {}), (gpu, DRIVER):
        logs.append(os.path.join(folder, os.path.basename(program) + ".jsonl"))
        run(program, "--data-dir", folder, "--log", logs[-1], "--quiet", env=dict(os.environ, **environment))
    steps = [events(log, "step") for log in logs]
    expect("steps", [len(s) for s in steps], [4, 4])
    for cpu, device in zip(*steps):
        for name in "loss", "grad_norm":
            if not math.isclose(cpu[name], device[name], rel_tol=1e-5):
                sys.exit(f"{name} of step {cpu['step']}: {cpu[name]} on the CPU, {device[name]} on the GPU")


def main():
    folder = sys.argv[1]
    # 24 updates are one launch.
    parts = step(job(os.path.join(folder, "plain"), 12, clip=False))
    expect("the updates", parts[-1], 24)
    print(f"12 layers: {sum(parts)} kernels, {len(parts)} launches")
    # So are the gradients of 12 biases, the sums of all squared gradients with the loss, and the norm with Adam's scalars.
    clipped = job(os.path.join(folder, "clip"), 12, clip=True)
    parts = step(clipped)
    expect("gradients, sums, norm, updates", [n for n in parts if n > 1], [12, 25, 2, 24])
    print(f"12 layers, clipped: {sum(parts)} kernels, {len(parts)} launches")
    # 80 updates of Adam, 10 tensors each, take more than the 512 pointers that one launch may have.
    parts = step(job(os.path.join(folder, "deep"), 40, clip=False))
    expect("the updates", [n for n in parts if n > 2], [29, 51])
    print(f"40 layers: {sum(parts)} kernels, {len(parts)} launches")
    # The norm of 80 gradients takes the same number of launches as that of 24.
    parts = step(job(os.path.join(folder, "deep-clip"), 40, clip=True))
    expect("sums, norm, updates", [n for n in parts if n > 1][1:], [81, 2, 46, 34])
    # Layers of equal size share code, also within a launch: three times the layers take less than twice the code.
    even = [job(os.path.join(folder, f"even{layers}"), layers, clip=True, growth=0) for layers in (12, 36)]
    sizes = [code_size(spec) for spec in even]
    if sizes[1] > 2 * sizes[0]:
        sys.exit(f"code of 12 and of 36 equal layers: {sizes} bytes")
    follow(clipped, os.path.dirname(clipped))
    follow(even[0], os.path.dirname(even[0]))
    verified = gradc("verify", clipped, "--target=cuda:sm_90", "--llvm-image", env=dict(os.environ, **DRIVER))
    expect("verify", verified.splitlines()[-1].split(", ")[-1], "0 wrong")


main()
