"""A trainer that needs more memory than there is ends with a message.

    memory.py ROOT
"""
import os
import random
import resource
import subprocess
import sys
import zipfile

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/e2e"), os.path.join(ROOT, "test")]
from case import folder, path
from bar import compile_spec, write_mlp_job

LIMIT = 1 << 30  # bytes of address space
spec = write_mlp_job(folder, (6, 8, 3), 4, 6)
with open(spec) as file:
    lines = file.read().splitlines(True)


def trainer(source, stages=""):
    """Compiles the job with another source."""
    with open(spec, "w") as file:
        file.writelines(f"  source {{ {source} }}\n  {stages}\n" if line.strip().startswith("source") else line for line in lines)
    return compile_spec(spec, folder)


def expect(code, message, command):
    limit = lambda: resource.setrlimit(resource.RLIMIT_AS, (LIMIT, LIMIT))
    result = subprocess.run([command, "--steps", "1"], cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, preexec_fn=limit)
    assert result.returncode == code and message in result.stdout, f"expected {code} and {message!r}, found {result.returncode}:\n{result.stdout}"


# 1. A compressed array whose archive says that it has 2 GB.
with zipfile.ZipFile(path("x.npz"), "w", zipfile.ZIP_DEFLATED) as archive:
    for name in ("x", "labels"):
        with open(path(name + ".npy"), "rb") as file:
            archive.writestr(name + ".npy", file.read() + random.Random(1).randbytes(4 << 20))
command = trainer('npz { path: "x.npz" }')
with open(path("x.npz"), "rb") as file:
    data = bytearray(file.read())
entry = data.index(b"PK\1\2")
data[entry + 24:entry + 28] = (2 << 30).to_bytes(4, "little")
with open(path("x.npz"), "wb") as file:
    file.write(data)
expect(1, f"cannot allocate {2 << 30} bytes for 'x.npy' in '", command)

# 2. An order of more rows than memory can hold.
with open(path("text.bin"), "wb") as file:
    file.write(bytes(64))
command = trainer('tokens { path: "text.bin"  window: 6  stride: 1  input: "x"  target: "labels" }',
                  'stage { map { field: "x"  cast: F32 } } stage { map { field: "labels"  cast: I64 } }')
os.truncate(path("text.bin"), 400 << 20)
expect(5, "error: out of memory", command)
