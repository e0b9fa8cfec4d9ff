"""The whole job of a spec: input pipeline, steps, evaluation, log, checkpoints, export."""
from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np

from gradc._interface import DTYPES, Error, Path, by_field, check, checked_seed, contiguous, keep_text, path_bytes, text
from gradc._model import Model, Session
from gradc._native import ffi, lib

_NUMBERS = {np.dtype(name): number for number, name in DTYPES.items() if number < 16}


class Report(NamedTuple):
    """A step of a run, passed to `on_step`. `milliseconds` includes the wait for the batch; `input_milliseconds` is that wait."""
    step: int
    epoch: int
    loss: float
    learning_rate: float
    gradient_norm: float
    milliseconds: float
    input_milliseconds: float
    kind: str


class Trained(NamedTuple):
    """The result of a run. `session` has its weights: the best by evaluation if there is one, otherwise the last. A missing loss is nan.

    `metrics`: those of the last evaluation by name, such as "loss" and "accuracy"; those of its sets as "NAME/loss" and "NAME/accuracy"."""
    steps: int
    seconds: float
    loss: float
    evaluation_loss: float
    metric: float
    session: Session
    metrics: dict[str, float]


class _Run:
    """The state of a run's callback, which is called on the training thread."""

    def __init__(self, on_step: Callable[[Report], object] | None):
        self.on_step, self.raised = on_step, None
        self.metrics: dict[str, float] = {}


def _keep(_, value, traceback):
    """Keeps an exception from a signal that arrived during the step: it is raised before the first line of the callback."""
    ffi.from_handle(traceback.tb_frame.f_locals["context"]).raised = value


@ffi.def_extern(error=0, onerror=_keep)
def gradc_python_on_step(report, context):
    run = ffi.from_handle(context)
    try:
        if run.on_step is None:
            return 1
        return int(run.on_step(Report(report.step, report.epoch, report.loss, report.learning_rate, report.gradient_norm, report.milliseconds,
                                      report.input_milliseconds, text(report.entry))) is not False)
    except BaseException as raised:
        run.raised = raised
        return 0


@ffi.def_extern(onerror=_keep)
def gradc_python_on_metric(name, value, context):
    ffi.from_handle(context).metrics[text(name)] = value


def _fields(arrays: Mapping[str, np.ndarray], keep: list):
    fields = ffi.new("gradc_data_field[]", len(arrays))
    for field, (name, array) in zip(fields, arrays.items()):
        array = contiguous(np.asarray(array))
        if array.dtype not in _NUMBERS or array.ndim == 0:
            raise Error(f"field '{name}' has type {array.dtype} and shape {list(array.shape)}, expected numbers [rows, ...]")
        keep += [array, ffi.new("int64_t[]", array.shape), ffi.from_buffer(array)]
        field.size, field.name, field.dtype = ffi.sizeof("gradc_data_field"), keep_text(keep, name), _NUMBERS[array.dtype]
        field.rank, field.shape, field.data = array.ndim, keep[-3], ffi.cast("void *", keep[-2])
    return fields


def _weights(folder: str) -> str:
    """The checkpoint that a run's session loads."""
    steps = [(int(found[1]), name) for name in os.listdir(folder) if (found := re.fullmatch(r"step-(\d+)\.ckpt", name))]
    best = os.path.join(folder, "best.ckpt")
    return best if os.path.exists(best) else os.path.join(folder, max(steps)[1])


def train(model: Model, *, data: Mapping[str, np.ndarray] | None = None, steps: int = 0, epochs: int = 0, seed: int | None = None,
          threads: int = 0, on_step: Callable[[Report], object] | None = None, checkpoint: Path | None = None, resume: Path | None = None,
          log: Path | None = None, export: Path | None = None, data_folder: Path | None = None, progress: bool = False) -> Trained:
    """Runs the job that the model was compiled with; other Python threads run meanwhile.

    `data`: arrays that replace the source's files and are read without a copy; default: those given to compile, otherwise the files. `steps`,
    `epochs`, `seed`, `threads`: 0 or None for the job's. `on_step(report)`: called after each step; if it returns False, the run ends
    normally. `checkpoint`: the run's folder; default: a temporary one. `resume`: a checkpoint, a folder of checkpoints, or "latest". `log`: a
    file of JSON lines.

    An exception in `on_step`, or KeyboardInterrupt, ends the run after the step, writes a checkpoint, and is then raised."""
    if checkpoint is None:
        with tempfile.TemporaryDirectory(prefix="gradc-run-") as folder:
            return train(model, data=data, steps=steps, epochs=epochs, seed=seed, threads=threads, on_step=on_step,
                         checkpoint=os.path.join(folder, "run"), resume=resume, log=log, export=export, data_folder=data_folder,
                         progress=progress)
    keep: list = []
    arrays = model.arrays if data is None else by_field("data", data)
    run = _Run(on_step)
    handle = ffi.new_handle(run)
    path = lambda value: keep_text(keep, path_bytes(value) if value is not None else None)
    options = ffi.new("gradc_train_options *", {
        "size": ffi.sizeof("gradc_train_options"), "steps": steps, "epochs": epochs, "threads": threads, "checkpoint": path(checkpoint),
        "resume": path(resume), "log": path(log), "export_onnx": path(export), "data_folder": path(data_folder), "progress": int(progress),
        "on_step": lib.gradc_python_on_step, "on_metric": lib.gradc_python_on_metric, "context": handle})
    if seed is not None:
        keep.append(ffi.new("uint64_t *", checked_seed(seed)))
        options.seed = keep[-1]
    if arrays:
        fields = _fields(arrays, keep)
        options.fields, options.field_count = fields, len(arrays)
    result = ffi.new("gradc_train_result *", {"size": ffi.sizeof("gradc_train_result")})
    status = lib.gradc_train(model.handle, options, result)
    if run.raised is not None:
        raise run.raised
    check(status)
    session = model.session(threads)
    session.load(_weights(os.fsdecode(checkpoint)))
    return Trained(result.steps, result.seconds, result.loss, result.evaluation_loss, result.metric, session, run.metrics)
