"""Gives gradc every wrong input of the tables: the exit code and the first line of the answer must be as written there, within ten seconds
of computing, and no signal may end it.

    run.py ROOT [--write] [NAME...]

A case changes a good job (mlp.textproto, mlp.onnx, x.npy, labels.npy), line by line, and ends with a command and what is
expected of it:

    spec OLD => NEW          in the spec, which has OLD
    spec += TEXT             at its end
    model NAME               mlp.onnx becomes that of models.py
    file NAME = TEXT         bytes as Python's b"" has them
    npy NAME = TYPE SHAPE    zeros: npy x.npy = f4 24,6
    header NAME = TEXT       zeros behind a .npy header
    tensors NAME = TENSORS   zeros in safetensors: tensors w.safetensors = fc1.bias F32 8; fc2.bias F32 3
    cut NAME BYTES           to so many
    flip NAME BYTE           the bits of one
    remove NAME, folder NAME, fifo NAME, link NAME TARGET
    $ gradc check mlp.textproto
    3 the first line

`--write` writes the answers into the tables; read the difference before it is committed.
"""
import ast
import concurrent.futures
import glob
import json
import math
import os
import re
import resource
import shlex
import shutil
import struct
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(ROOT, "test/bars"), os.path.join(ROOT, "test"), HERE]
from bar import program, scratch, write_mlp_job
from models import MODELS

SECONDS, WALL = 10, 60  # of computing; passed on a busy machine


class Case:
    def __init__(self, table, line):
        self.place = f"{table}:{line}"
        self.changes, self.command, self.expected = [], None, None


def read_table(path):
    """The cases of a table, and the line number at which each states its expectation."""
    cases, case = [], None
    with open(path) as file:
        for number, line in enumerate(file.read().splitlines()):
            if not line or line.startswith("#"):
                continue
            case = case or Case(os.path.basename(path), number + 1)
            if case.command is None and line.startswith("$ "):
                case.command = line[2:]
            elif case.command is None:
                case.changes.append(line)
            else:
                case.expected, case.line = line, number
                cases.append(case)
                case = None
    assert case is None, f"{path} ends within a case"
    return cases


def write_npy(path, dtype, shape):
    count = 1
    for size in shape:
        count *= size
    header = f"{{'descr': '<{dtype}', 'fortran_order': False, 'shape': {tuple(shape)}, }}".ljust(117) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00\x76\x00" + header.encode() + bytes(count * int(dtype[1:])))


def write_safetensors(path, tensors):
    header, end = {}, 0
    for name, dtype, shape in tensors:
        dims = [int(size) for size in shape.split(",")]
        begin, end = end, end + math.prod(dims) * int(dtype.lstrip("BFI")) // 8
        header[name] = {"dtype": dtype, "shape": dims, "data_offsets": [begin, end]}
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + bytes(end))


def apply(change, folder):
    verb, rest = change.split(" ", 1)
    path = lambda name: os.path.join(folder, name)
    if verb == "spec":
        with open(path("mlp.textproto"), "rb") as file:
            text = file.read()
        if rest.startswith("+= "):
            text += unescape(rest[3:])
        else:
            old, _, new = (part.strip(" ") for part in (rest + " ").partition(" => "))
            assert old.encode() in text, f"the spec has no {old}"
            text = text.replace(old.encode(), unescape(new))
        with open(path("mlp.textproto"), "wb") as file:
            file.write(text)
    elif verb == "model":
        model = MODELS[rest]()
        with open(path("mlp.onnx"), "wb") as file:
            file.write(model if isinstance(model, bytes) else model.bytes())
    elif verb == "file":
        name, _, text = rest.replace(" = ", " =", 1).partition(" =")
        with open(path(name), "wb") as file:
            file.write(unescape(text))
    elif verb == "npy":
        name, _, text = rest.replace(" = ", " =", 1).partition(" =")
        dtype, shape = text.split()
        write_npy(path(name), dtype, [int(size) for size in shape.split(",")])
    elif verb == "header":
        name, _, text = rest.replace(" = ", " =", 1).partition(" =")
        with open(path(name), "wb") as file:
            file.write(b"\x93NUMPY\x01\x00\x76\x00" + text.ljust(117).encode() + b"\n" + bytes(24 * 6 * 4))
    elif verb == "tensors":
        name, _, text = rest.partition(" = ")
        write_safetensors(path(name), [tensor.split() for tensor in text.split("; ")])
    elif verb == "cut":
        name, size = rest.split()
        os.truncate(path(name), int(size))
    elif verb == "flip":
        name, at = rest.split()
        with open(path(name), "r+b") as file:
            file.seek(int(at), os.SEEK_SET if int(at) >= 0 else os.SEEK_END)
            byte = file.read(1)[0]
            file.seek(-1, os.SEEK_CUR)
            file.write(bytes([byte ^ 255]))
    elif verb == "remove":
        os.remove(path(rest))
    elif verb == "folder":
        os.mkdir(path(rest))
    elif verb == "fifo":
        os.mkfifo(path(rest))
    elif verb == "link":
        name, target = rest.split()
        os.symlink(target, path(name))
    else:
        raise ValueError(f"unknown change: {change}")


def unescape(text):
    return ast.literal_eval('b"' + text.replace('"', r"\"") + '"')


def answer(case, good, folder):
    """The exit code or the signal, and the first line."""
    shutil.copytree(good, folder, symlinks=True)
    for change in case.changes:
        apply(change, folder)
    command = shlex.split(case.command)
    if command[0] == "gradc":
        command[0] = program("gradc")
    limit = lambda: resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    environment = dict(os.environ, TMPDIR=folder)
    try:
        result = subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True, errors="replace", timeout=WALL, preexec_fn=limit, env=environment)
    except subprocess.TimeoutExpired:
        return "hangs"
    left = [name for name in os.listdir(folder) if name.startswith("gradc-")]
    lines = (result.stderr or result.stdout).replace(folder + "/", "").splitlines() or [""]
    lines[0] = re.sub(r"more than \d+ MB of this machine", "more than the MB of this machine", lines[0])
    code = f"signal {-result.returncode}" if result.returncode < 0 else str(result.returncode)
    return f"{code} {lines[0]}".rstrip() + (f" AND LEAVES {left[0]}" if left else "")


def main():
    write = "--write" in sys.argv
    tables = {path: read_table(path) for path in sorted(glob.glob(os.path.join(HERE, "*.txt")))}
    work = scratch()
    good = os.path.join(work, "good")
    os.mkdir(good)
    write_mlp_job(good, (6, 8, 3), 4, 6)
    subprocess.run([program("gradc"), "compile", "mlp.textproto", "-o", "trainer"], cwd=good, check=True)
    subprocess.run(["./trainer", "--quiet", "--steps", "2", "--checkpoint", "run", "--data-dir", "."], cwd=good, check=True)
    cases = [case for table in tables.values() for case in table]
    if names := [name for name in sys.argv[2:] if name != "--write"]:
        cases = [case for case in cases if any(name in case.place for name in names)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        folders = [os.path.join(work, str(number)) for number in range(len(cases))]
        answers = list(pool.map(lambda case, folder: answer(case, good, folder), cases, folders))
    failures = 0
    for case, found in zip(cases, answers):
        if found == case.expected:
            continue
        failures += 1
        print(f"{case.place}: $ {case.command}\n  expected {case.expected}\n  found    {found}")
        case.expected = found
    if write:
        for path, table in tables.items():
            with open(path) as file:
                lines = file.read().splitlines()
            for case in table:
                lines[case.line] = case.expected
            with open(path, "w") as file:
                file.write("\n".join(lines) + "\n")
    print(f"wrong inputs: {len(cases) - failures} of {len(cases)} answered as they should")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
