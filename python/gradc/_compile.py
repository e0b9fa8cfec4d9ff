"""Runs the compiler that comes with the package."""
from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
import weakref
import zipfile
from collections.abc import Mapping, Sequence

import numpy as np

from gradc._interface import Arrays, Error, Path, by_field, path_bytes
from gradc._model import Model
from gradc._spec import escaped, field, with_absolute_paths, with_set, with_source

_SET_NAME = re.compile(r"[A-Za-z0-9_-]+")


class CompileError(Error):
    """The model or spec was refused; the message is the compiler's, with file and line or node."""


def compiler() -> str:
    """The path of the compiler: GRADC, otherwise the package's own, otherwise the one in PATH."""
    own = os.path.join(os.path.dirname(__file__), "bin", "gradc")
    found = os.environ.get("GRADC") or (own if os.path.exists(own) else shutil.which("gradc"))
    if not found:
        raise Error(f"no compiler: expected {own}, or gradc in PATH")
    return found


def main() -> None:
    """The command `gradc`."""
    os.execv(compiler(), ["gradc", *sys.argv[1:]])


def _written(folder: str, name: str, content: bytes) -> str:
    path = os.path.join(folder, name)
    with open(path, "wb") as file:
        file.write(content)
    return path


def _model_file(model, folder: str) -> str:
    """The file of a model given as a path, as bytes, or as an onnx.ModelProto."""
    if isinstance(model, (str, os.PathLike)):
        return os.path.abspath(os.fsdecode(path_bytes(model)))
    if hasattr(model, "SerializeToString"):
        model = model.SerializeToString()
    if not isinstance(model, (bytes, bytearray, memoryview)):
        raise Error(f"the model is a {type(model).__name__}, expected a file, bytes or an onnx.ModelProto")
    return _written(folder, "model.onnx", model)


def _write_npz(path: str, arrays: Arrays) -> None:
    """Like numpy.savez, which takes fields called "file" and "allow_pickle" for arguments of its own."""
    with zipfile.ZipFile(path, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as entry:
                np.lib.format.write_array(entry, np.asanyarray(array))


def _set_source(name: str, values: Arrays | Path) -> Arrays | str:
    """The arrays of a set of the evaluation, or the path of its file."""
    if not isinstance(name, str) or not _SET_NAME.fullmatch(name):
        raise Error(f"a set of the evaluation is called {name!r}, expected letters, digits, - and _")
    if isinstance(values, Mapping) and values:
        return values
    if isinstance(values, (str, os.PathLike)) and (path := os.fsdecode(path_bytes(values))).endswith(".npz"):
        return os.path.abspath(path)
    found = f"'{values}'" if isinstance(values, (str, os.PathLike)) else f"a {type(values).__name__}"
    raise Error(f"set '{name}' of the evaluation is {found}, expected a dict of arrays by field, or an .npz file; data in other files are "
                f'evaluation {{ set {{ name: "{name}"  data {{ ... }} }} }} of the spec')


def compile(model=None, spec: Path | str | None = None, *, data: Mapping[str, np.ndarray] | None = None,
            evaluation: Mapping[str, np.ndarray] | None = None, evaluation_sets: Mapping[str, Mapping[str, np.ndarray] | Path] | None = None,
            shapes: Mapping[str, Sequence[int]] | None = None, entries: Mapping[str, Mapping[str, Sequence[int]]] | None = None,
            target: str | None = None, string_bytes: int | None = None, output: Path | None = None) -> Model:
    """Compiles a model, with a spec for its training.

    `model`: an ONNX file, its bytes, or an onnx.ModelProto; default: the spec's own. `spec`: a file, or the text of one, whose relative paths
    start in the current folder. `data`, `evaluation`: arrays of [rows, ...] that serve as the source of the spec's `data` and `evaluation {
    data }` blocks, which must not have one. `evaluation_sets`: further data to evaluate on, by name, whether or not `evaluation` is given:
    arrays, or an npz file. They are the source of the spec's `evaluation { set }` block of that name; a set that the spec lacks is prepared
    as the evaluation's own data. `shapes`: sizes of inputs with symbolic dims. `entries`: of a model
    without a spec, further entries over the same weights, for other shapes of some inputs: {"step": {"ids": (1, 1)}} makes the entry
    "forward.step". `target`: "cpu" compiles only for this machine's level; default: for most machines as well. `string_bytes`: the maximum
    number of UTF-8 bytes in a string of an input; default: 64. `output`: the artifact's file; the arrays, which it reads when it runs, are
    written next to it as "OUTPUT.data.npz", "OUTPUT.evaluation.npz" and "OUTPUT.evaluation.NAME.npz"; default: temporary files that are
    removed with the model.

    Raises CompileError with the compiler's message."""
    arrays = {"data": by_field("data", data), "evaluation": by_field("evaluation", evaluation)}
    if evaluation_sets is not None and not isinstance(evaluation_sets, Mapping):
        raise Error(f"evaluation_sets is a {type(evaluation_sets).__name__}, expected a dict of arrays or files by name")
    sets = {name: _set_source(name, values) for name, values in (evaluation_sets or {}).items()}
    if output is not None:
        path_bytes(output)  # raises an error if it is no path
    folder = tempfile.mkdtemp(prefix="gradc-")
    try:
        opened = _compile_in(folder, _spec_file(model, spec, arrays, sets, folder, output), shapes, entries, target, string_bytes, output)
    except BaseException:
        shutil.rmtree(folder, ignore_errors=True)
        raise
    weakref.finalize(opened, _remove, folder, os.getpid())  # evaluations read their arrays from it
    opened.arrays = dict(arrays["data"])
    return opened


def _remove(folder: str, process: int) -> None:
    if os.getpid() == process:  # not in a forked child
        shutil.rmtree(folder, ignore_errors=True)


def _shape(name: str, dims: Sequence[int]) -> str:
    return f"{name}={'x'.join(map(str, dims))}"


def _compile_in(folder: str, source: str, shapes, entries, target: str | None, string_bytes: int | None, output: Path | None) -> Model:
    made = os.path.abspath(output) if output else os.path.join(folder, "model.so")
    command = [compiler(), "compile", source, "--emit", "so", "-o", made]
    for name, dims in (shapes or {}).items():
        command += ["--shape", _shape(name, dims)]
    for entry, others in (entries or {}).items():
        for name, dims in others.items():
            command += ["--entry-shape", f"{entry}:{_shape(name, dims)}"]
    if target:
        command += ["--target", target]
    if string_bytes:
        command += ["--string-bytes", str(string_bytes)]
    done = subprocess.run(command, text=True, errors="backslashreplace", capture_output=True)
    if done.returncode:
        raise CompileError((done.stderr or done.stdout).strip().replace(folder + os.sep, ""), done.returncode)
    return Model(made)


def _spec_file(model, spec, arrays, sets, folder: str, output: Path | None) -> str:
    has_data = any(arrays.values()) or bool(sets)
    if spec is None:
        if model is None or has_data:
            raise Error("compile takes a model, a spec, or both; data belongs to a spec")
        return _model_file(model, folder)
    is_text = isinstance(spec, str) and ("{" in spec or "\n" in spec)
    if not is_text and model is None and not has_data:
        return os.path.abspath(spec)
    base, content = os.getcwd(), spec
    if not is_text:
        base = os.path.dirname(os.path.abspath(spec))
        with open(spec, encoding="utf-8", errors="surrogateescape") as file:
            content = file.read()
    content = with_absolute_paths(content, base)
    if model is not None:
        if field(content, "model") is not None:
            raise Error("the spec names a model, and another one was given")
        content = f'model: "{escaped(_model_file(model, folder))}" {content}'  # on the first line, so the other lines keep their numbers

    def written(name: str, values: Arrays) -> str:
        path = f"{os.path.abspath(output)}.{name}.npz" if output else os.path.join(folder, f"{name}.npz")
        _write_npz(path, values)
        return path

    for block, values in arrays.items():
        if values:
            content = with_source(content, block, written(block, values))
    for name, values in sets.items():
        content = with_set(content, name, values if isinstance(values, str) else written(f"evaluation.{name}", values))
    return _written(folder, "spec.textproto", content.encode("utf-8", "surrogateescape"))
