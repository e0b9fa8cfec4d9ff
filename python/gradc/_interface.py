"""What the modules share: errors, structs and texts of the C interface, and arrays as the runtime takes them."""
from __future__ import annotations

import math
import os
import re
from collections.abc import Mapping

import numpy as np

from gradc._native import ffi, lib

Arrays = Mapping[str, np.ndarray]
Path = str | os.PathLike

DTYPES = {1: "float32", 2: "uint8", 3: "int8", 4: "uint16", 5: "int16", 6: "int32", 7: "int64", 9: "bool", 10: "float16",
          11: "float64", 12: "uint32", 13: "uint64", 16: "uint16",  # bf16 as its bits
          17: "uint8", 18: "uint8", 19: "uint8", 20: "uint8", 21: "uint8", 22: "int8", 23: "uint8", 24: "uint8", 25: "uint8", 26: "int8"}  # narrow types

# The arguments of this package that stand for options of the command line in the messages of compiler and runtime.
_ARGUMENTS = {"checkpoint": "checkpoint", "data-dir": "data_folder", "export": "export", "log": "log", "resume": "resume", "shape": "shapes",
              "string-bytes": "string_bytes", "target": "target"}
_OPTION = re.compile(rf"--entry-shape(?: (?P<entry>[\w-]+))?|--(?P<name>{'|'.join(_ARGUMENTS)})\b(?: (?P<input>[^\s=]+)=(?P<dims>\d+(?:x\d+)*))?=?")


def _argument(option: re.Match) -> str:
    if not option["name"]:
        return "entries" + (f"['{option['entry']}']" if option["entry"] else "")
    shape = f"{{'{option['input']}': [{option['dims'].replace('x', ', ')}]}}" if option["input"] else ""
    return f"{_ARGUMENTS[option['name']]}={shape}"


class Error(RuntimeError):
    """A failed call. `status`: 1 data, files, a loss that is not finite; 2 a wrong argument; 3 a damaged artifact; 5 too little memory."""

    def __init__(self, message: str, status: int = 2):
        super().__init__(_OPTION.sub(_argument, message))
        self.status = status


def check(status: int) -> None:
    if status:
        raise Error(text(lib.gradc_last_error()), status)


def described(kind: str, call, *arguments):
    """The struct filled in by a gradc_..._describe function."""
    info = ffi.new(f"{kind} *")
    info.size = ffi.sizeof(kind)
    check(call(*arguments, info))
    return info


def text(value) -> str:
    return ffi.string(value).decode(errors="backslashreplace")


def path_bytes(path: Path) -> bytes:
    """A path for C, where a zero byte would end it."""
    encoded = os.fsencode(path)
    if not encoded:  # C takes it for the default
        raise Error("expected a path, found ''")
    if b"\0" in encoded:
        raise Error(f"expected a path without zero bytes, found {path!r}")
    return encoded


def keep_text(keep: list, value: str | bytes | None):
    if value is None:
        return ffi.NULL
    if not isinstance(value, (str, bytes)):  # cffi takes a number for the length of a text
        raise Error(f"expected a string, found {value!r}")
    keep.append(ffi.new("char[]", value.encode() if isinstance(value, str) else value))
    return keep[-1]


def by_field(argument: str, arrays: Arrays | None) -> Arrays:
    """The arrays of an argument, by field; raises where it is no mapping."""
    if arrays is not None and not isinstance(arrays, Mapping):
        raise Error(f"{argument} is a {type(arrays).__name__}, expected a dict of arrays by field")
    return arrays or {}


def checked_seed(seed: int) -> int:
    if not 0 <= seed < 1 << 64:
        raise Error(f"seed is {seed}, expected 0 to {(1 << 64) - 1}")
    return seed


def contiguous(array: np.ndarray) -> np.ndarray:
    return array if array.flags.c_contiguous else np.ascontiguousarray(array)


def empty(shape: int | tuple, dtype: np.dtype) -> np.ndarray:
    """An array at a multiple of 64, which the runtime writes in place, and reads in place as an input of a later run."""
    dtype, shape = np.dtype(dtype), (shape,) if isinstance(shape, (int, np.integer)) else tuple(shape)
    size, align = math.prod(shape) * dtype.itemsize, 64
    memory = np.empty(size + align, np.uint8)
    begin = -memory.ctypes.data % align
    return memory[begin:begin + size].view(dtype).reshape(shape)


def buffer_of(array: np.ndarray):
    """The buffer of an array, or of a contiguous copy of it."""
    return ffi.from_buffer(contiguous(array))
