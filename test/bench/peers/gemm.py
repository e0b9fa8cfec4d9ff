"""Matrix products of one library, one JSON line per shape.

    gemm.py --library torch|torch_bf16|numpy|jax|jax_bf16|ort [--threads 1]
"""
import argparse
import json
import os
import statistics
import time

SHAPES = [(1024, 1024, 1024), (2048, 2048, 2048), (128, 512, 784), (128, 512, 512), (32, 128, 64), (1024, 1536, 384),
          (1024, 384, 1536), (1024, 4096, 384), (1, 512, 784), (4096, 256, 256)]  # M, N, K


def torch_product(a, b, threads, bf16):
    import torch

    torch.set_num_threads(threads)
    dtype = torch.bfloat16 if bf16 else torch.float32
    a, b = torch.from_numpy(a).to(dtype), torch.from_numpy(b).to(dtype)
    out = torch.empty(a.shape[0], b.shape[1], dtype=dtype)
    return lambda: torch.mm(a, b, out=out)


def jax_product(a, b, threads, bf16):
    import jax
    import jax.numpy as jnp

    product, dtype = jax.jit(lambda a, b: a @ b), jnp.bfloat16 if bf16 else jnp.float32
    a, b = jnp.asarray(a, dtype), jnp.asarray(b, dtype)
    return lambda: product(a, b).block_until_ready()


def numpy_product(a, b, threads, bf16):
    import numpy as np

    out = np.empty((a.shape[0], b.shape[1]), np.float32)
    return lambda: np.dot(a, b, out=out)


def ort_product(a, b, threads, bf16):
    import onnxruntime
    from onnx_export import FLOAT, Model

    model = Model("product")
    weight = model.initializer("b", FLOAT, b.shape, data=b.tobytes())
    model.output(model.node("MatMul", [model.input("a", FLOAT, a.shape), weight], ["c"]), FLOAT, (a.shape[0], b.shape[1]))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(model.bytes(), options, providers=["CPUExecutionProvider"])
    binding = session.io_binding()
    binding.bind_cpu_input("a", a)
    binding.bind_output("c", "cpu")
    return lambda: session.run_with_iobinding(binding)


LIBRARIES = {"torch": torch_product, "jax": jax_product, "numpy": numpy_product, "ort": ort_product}


def measure(product, seconds):
    """The seconds of one product: (median, best) over chunks of about 10 ms."""
    for _ in range(5):
        product()
    began = time.perf_counter()
    product()
    chunk = max(1, int(0.01 / max(1e-7, time.perf_counter() - began)))
    times, end = [], time.perf_counter() + seconds
    while time.perf_counter() < end or len(times) < 5:
        began = time.perf_counter()
        for _ in range(chunk):
            product()
        times.append((time.perf_counter() - began) / chunk)
    return statistics.median(times), min(times)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True, choices=[*LIBRARIES, "torch_bf16", "jax_bf16"])
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.8)
    arguments = parser.parse_args()
    if arguments.threads == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[variable] = str(arguments.threads)
    os.environ.update(JAX_PLATFORMS="cpu")
    import numpy as np  # after the variables, which it reads

    random = np.random.default_rng(0)
    make = LIBRARIES[arguments.library.split("_")[0]]
    for m, n, k in SHAPES:
        a, b = (random.standard_normal(shape).astype(np.float32) for shape in ((m, k), (k, n)))
        median, best = measure(make(a, b, arguments.threads, "bf16" in arguments.library), arguments.seconds)
        gflop = 2e-9 * m * n * k
        print(json.dumps({"library": arguments.library, "threads": arguments.threads, "m": m, "n": n, "k": k,
                          "gflops": round(gflop / median, 1), "best": round(gflop / best, 1)}), flush=True)
    os._exit(0)  # the libraries' threads need not be waited for


if __name__ == "__main__":
    main()
