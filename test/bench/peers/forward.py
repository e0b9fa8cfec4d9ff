"""One measurement of inference, one JSON line:  forward.py RUNTIME MODEL INPUTS.npz OUTPUTS.npz [THREADS [SECONDS]]

RUNTIME is `ort` (MODEL: an ONNX file) or `gradc` (a shared library that it compiled). The files have an array for each input and
output. With one thread the process is bound to one CPU.
"""
import ctypes
import json
import os
import statistics
import sys
import time

import numpy as np


def with_ort(path, given, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, given)


def aligned(array):
    """A copy at an address that is a multiple of 64, which both runtimes read in place."""
    memory = np.empty(array.nbytes + 64, np.uint8)
    begin = -memory.ctypes.data % 64
    copy = memory[begin:begin + array.nbytes].view(array.dtype).reshape(array.shape)
    copy[...] = array
    return copy


class SessionOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("level", ctypes.c_char_p)]


# ONNX's numbers of element types.
DTYPES = {1: np.float32, 2: np.uint8, 3: np.int8, 6: np.int32, 7: np.int64, 9: np.bool_, 10: np.float16, 11: np.float64}


class PortInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_uint32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_uint64), ("role", ctypes.c_int),
                ("field", ctypes.c_char_p), ("classes", ctypes.c_int64), ("batched", ctypes.c_uint32)]


def with_gradc(path, given, threads, name="forward"):
    library = ctypes.CDLL(path)
    library.gradc_last_error.restype = ctypes.c_char_p

    def check(status):
        if status:
            sys.exit(library.gradc_last_error().decode())

    model, session, entry = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint32()
    check(library.gradc_open(None, ctypes.byref(model)))
    options = SessionOptions(ctypes.sizeof(SessionOptions), threads, None)
    check(library.gradc_session_create(model, ctypes.byref(options), ctypes.byref(session)))
    check(library.gradc_entry_find(session, name.encode(), ctypes.byref(entry)))

    def ports(describe):
        """The name, shape, element type and bytes of each input or output."""
        port, found = PortInfo(ctypes.sizeof(PortInfo)), []
        while describe(session, entry, len(found), ctypes.byref(port)) == 0:
            found.append((port.name.decode(), port.shape[:port.rank], DTYPES.get(port.dtype), port.bytes))
        return found

    inputs, outputs = ports(library.gradc_input_describe), ports(library.gradc_output_describe)
    results = [aligned(np.zeros(size, np.uint8)) for *_, size in outputs]
    # Inputs that are not given are numbers of rows, which the runtime sets itself.
    run, rows = (library.gradc_run, ()) if len(inputs) == len(given) else (library.gradc_run_rows, (ctypes.c_int64(len(given["x"])),))

    def call():
        sources = (ctypes.c_void_p * len(inputs))(*(given[name].ctypes.data if name in given else None for name, *_ in inputs))
        places = (ctypes.c_void_p * len(results))(*(result.ctypes.data for result in results))
        check(run(session, entry, *rows, sources, len(inputs), places, len(results)))
        return [result.view(dtype).reshape(shape) for result, (_, shape, dtype, _) in zip(results, outputs)]

    return call


def main():
    runtime, model, inputs, outputs = sys.argv[1:5]
    threads, seconds = int((sys.argv[5:] or ["1"])[0]), float((sys.argv[6:] or ["1"])[0])
    if threads == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    call = {"ort": with_ort, "gradc": with_gradc}[runtime](model, {name: aligned(array) for name, array in np.load(inputs).items()}, threads)
    np.savez(outputs, *call())
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1e3)
    print(json.dumps({"ms": statistics.median(times), "calls": len(times)}))


if __name__ == "__main__":
    main()
