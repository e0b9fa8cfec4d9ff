"""One measurement of inference, one JSON line:  forward.py RUNTIME MODEL X.npy Y.npy [THREADS [SECONDS]]

RUNTIME is `ort` (MODEL: an ONNX file) or `gradc` (a shared library that it compiled). Writes the first output to Y.npy. With one thread
the process is bound to one CPU.
"""
import ctypes
import json
import os
import statistics
import sys
import time

import numpy as np


def with_ort(path, x, threads):
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda: session.run(None, {"x": x})[0]


class SessionOptions(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("threads", ctypes.c_int32), ("level", ctypes.c_char_p)]


class PortInfo(ctypes.Structure):
    _fields_ = [("size", ctypes.c_size_t), ("name", ctypes.c_char_p), ("dtype", ctypes.c_int), ("rank", ctypes.c_uint32),
                ("shape", ctypes.POINTER(ctypes.c_int64)), ("bytes", ctypes.c_uint64), ("role", ctypes.c_int),
                ("field", ctypes.c_char_p), ("classes", ctypes.c_int64), ("batched", ctypes.c_uint32)]


def with_gradc(path, x, threads):
    library = ctypes.CDLL(path)
    library.gradc_last_error.restype = ctypes.c_char_p

    def check(status):
        if status:
            sys.exit(library.gradc_last_error().decode())

    model, session, entry = ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_uint32()
    check(library.gradc_open(None, ctypes.byref(model)))
    options = SessionOptions(ctypes.sizeof(SessionOptions), threads, None)
    check(library.gradc_session_create(model, ctypes.byref(options), ctypes.byref(session)))
    check(library.gradc_entry_find(session, b"forward", ctypes.byref(entry)))
    port = PortInfo(ctypes.sizeof(PortInfo))
    check(library.gradc_output_describe(session, entry, 0, ctypes.byref(port)))
    y = np.zeros(port.shape[:port.rank], np.float32)

    count = 1  # more inputs are numbers of rows, which the runtime sets itself
    while library.gradc_input_describe(session, entry, count, ctypes.byref(port)) == 0:
        count += 1
    run, rows = (library.gradc_run, ()) if count == 1 else (library.gradc_run_rows, (ctypes.c_int64(len(x)),))

    def call():
        inputs, outputs = (ctypes.c_void_p * count)(x.ctypes.data), (ctypes.c_void_p * 1)(y.ctypes.data)
        check(run(session, entry, *rows, inputs, count, outputs, 1))
        return y

    return call


def main():
    runtime, model, x, y = sys.argv[1:5]
    threads, seconds = int((sys.argv[5:] or ["1"])[0]), float((sys.argv[6:] or ["1"])[0])
    if threads == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    call = {"ort": with_ort, "gradc": with_gradc}[runtime](model, np.load(x), threads)
    np.save(y, call())
    call()
    times, end = [], time.perf_counter() + seconds
    while len(times) < 5 or time.perf_counter() < end:
        began = time.perf_counter()
        call()
        times.append((time.perf_counter() - began) * 1e3)
    print(json.dumps({"ms": statistics.median(times), "calls": len(times)}))


main()
