"""lit's configuration: `.mlir` and `.test` files run their RUN lines, GoogleTest programs below unit/ run as tests."""
import os
import shutil
import subprocess
import sys
import tempfile

import lit.formats

config.name = "gradc"
config.test_format = lit.formats.ShTest(execute_external=False)
config.suffixes = [".mlir", ".test"]
config.excludes = ["unit", "bench", "bars", "Inputs"]
config.test_source_root = os.path.join(config.source_root, "test")
config.test_exec_root = os.path.join(config.build_root, "test")

path = [os.path.join(config.build_root, "bin"), config.llvm_tools, os.environ["PATH"]]
config.environment["PATH"] = os.pathsep.join(path)
config.environment["GRADC_BIN"] = os.path.join(config.build_root, "bin")
config.environment["PYTHONDONTWRITEBYTECODE"] = "1"
# Kernels compiled by several tests are compiled only once. run.py empties the folder first.
config.environment["GRADC_CACHE_DIR"] = os.path.join(config.test_exec_root, "tmp", "kernels")
config.environment["GRADC_TARGET"] = "cpu"  # one level, not the portable ones
# Tests that compile find the caches in the build's place.
config.environment |= {name: value for name, value in os.environ.items()
                       if name.startswith("CCACHE_") or name == "XDG_CACHE_HOME"}
# Tests on the simulated GPU run library calls on simulated libraries.
for variable, library in (("GRADC_LIBCUBLASLT", "cublaslt"), ("GRADC_LIBCUDNN", "cudnn")):
    config.environment[variable] = os.path.join(config.build_root, f"test/gradc-simulated-{library}.so")
config.substitutions += [
    ("%python", sys.executable),
    ("%cc", config.c_compiler),
    ("%root", config.source_root),
    ("%build", config.build_root),
]

with open("/proc/cpuinfo") as file:
    flags = next((line.split() for line in file if line.startswith("flags")), [])
config.available_features.update(f for f in ("avx2", "avx512f", "avx512_bf16", "amx_bf16") if f in flags)

# Machine code for GPUs requires the CUDA toolkit's assembler; without it, its tests are skipped.
homes = [os.environ[name] for name in ("CUDA_HOME", "CUDA_PATH") if os.environ.get(name)] or ["/usr/local/cuda"]
ptxas = next(filter(None, (shutil.which("ptxas", path=os.path.join(home, "bin")) for home in homes)), shutil.which("ptxas"))
if ptxas:
    config.available_features.add("ptxas")
    config.substitutions.append(("%ptxas", ptxas))
for name in ("CUDA_HOME", "CUDA_PATH"):
    if name in os.environ:
        config.environment[name] = os.environ[name]


def tsan_runs():
    """False in sandboxes that keep ThreadSanitizer from laying out its memory, where every program would fail."""
    with tempfile.TemporaryDirectory() as folder:
        program = os.path.join(folder, "empty")
        subprocess.run([config.c_compiler, "-fsanitize=thread", "-x", "c", "-", "-o", program],
                       input=b"int main(void) { return 0; }", capture_output=True, check=False)
        done = subprocess.run([program], capture_output=True, check=False) if os.path.exists(program) else None
    return not done or b"unable to disable ASLR" not in done.stderr


if tsan_runs():
    config.available_features.add("tsan")

if config.sanitized:
    config.available_features.add("sanitizers")
    # libMLIR is not instrumented, so the bookkeeping of containers passed to it is incomplete.
    config.environment["ASAN_OPTIONS"] = "detect_container_overflow=0:detect_leaks=0:allow_user_poisoning=0"
    config.environment["UBSAN_OPTIONS"] = "halt_on_error=1:print_stacktrace=1"
