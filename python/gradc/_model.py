"""Models and sessions over the C interface. Arrays are numpy's, and are read and written in place."""
from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from gradc._entry import Entry
from gradc._interface import DTYPES, Arrays, Error, Path, buffer_of, check, checked_seed, contiguous, described, keep_text, path_bytes, text
from gradc._native import ffi, lib

from_buffer, train_step_with = ffi.from_buffer, lib.gradc_train_step_with  # saves lookups in each step
_MAX_F32 = float(np.finfo(np.float32).max)
_forks = 0


def _count_fork() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_count_fork)


class Step(NamedTuple):
    """One optimizer step. `loss`: mean over the batch. `gradient_norm`: before clipping; nan if the job does not ask for it. `updated`: False
    if loss or gradients were not finite, so nothing changed."""
    number: int
    loss: float
    gradient_norm: float
    updated: bool
    loss_scale: float


def _checked_rate(rate: float) -> float:
    """The learning rate of a step; raises where it is no number of 0 or more in f32."""
    if not 0 <= rate <= _MAX_F32:
        raise Error(f"expected a learning rate of 0 or more, found {rate}")
    return rate


class Session:
    """The parameters, optimizer state, and memory of one training, or of predictions. Calls from several threads take turns; other threads
    run during a step. A session belongs to its process: after a fork, the child must create its own. It cannot be copied or pickled:
    `state_dict` and `load_state_dict` bring its states to another one."""

    def __init__(self, model: Model, threads: int = 0, level: str | None = None):
        """`threads`: 0 for one per CPU; results do not depend on the number. `level`: "x86-64-v3", ...; default: the machine's highest."""
        self._handle, self._forks, self._lock, keep = None, _forks, threading.RLock(), []
        options = ffi.new("gradc_session_options *", {"size": ffi.sizeof("gradc_session_options"), "threads": threads,
                                                      "level": keep_text(keep, level)})
        made = ffi.new("gradc_session **")
        check(lib.gradc_session_create(model.handle, options, made))
        self.model, self._handle = model, made[0]
        self._entries = {entry.name: entry for entry in (Entry(self._handle, i) for i in range(lib.gradc_entry_count(self._handle)))}
        self._known = {name for entry in self._entries.values() for port in entry.data for name in (port.field, port.name)} | model.inputs
        self._result = ffi.new("gradc_step_result *", {"size": ffi.sizeof("gradc_step_result")})
        self._options = ffi.new("gradc_step_options *", {"size": ffi.sizeof("gradc_step_options")})
        self._only, self._rows, self._rate = self._entries.get("train"), -1, 0  # the last two repeat the content of _options

    def close(self) -> None:
        if self._forks != _forks:  # a thread that does not exist in the child may hold the lock
            return
        with self._lock:
            if self._handle:
                lib.gradc_session_free(self._handle)
            self._handle = None

    __del__ = close

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_) -> None:
        self.close()

    def __reduce_ex__(self, protocol):  # also of copy.copy, whose result would free the session as well
        raise TypeError("a session cannot be copied or pickled, expected another one: model.session(), and load_state_dict(state_dict())")

    @property
    def handle(self):
        if self._forks != _forks:
            raise Error("the session was made before a fork, expected one of this process: call model.session()")
        if not self._handle:
            raise Error("the session is closed")
        return self._handle

    def _own(self) -> threading.RLock:
        """The lock; raises an error if the session cannot be used."""
        _ = self.handle
        return self._lock

    @property
    def level(self) -> str:
        """The level that the session runs on, for example "x86-64-v4"."""
        return text(lib.gradc_session_level(self.handle))

    @property
    def entries(self) -> list[str]:
        return [name for name in self._entries if ":" not in name]  # "pack:NAME" and others move copies of weights

    @property
    def number(self) -> int:
        """The number of the last step."""
        return lib.gradc_session_step(self.handle)

    def _entry(self, name: str) -> Entry:
        if name not in self._entries:
            raise Error(f"no entry '{name}', expected one of {sorted(self.entries)}")
        return self._entries[name]

    def step(self, data: Arrays | Sequence[np.ndarray], *, learning_rate: float = 0, kind: str | None = None,
             rates: Mapping[str, float] | None = None, momentum: float | None = None) -> Step:
        """Runs one optimizer step on a batch: arrays by field or in the entry's order, each [rows, ...]; contiguous arrays are not copied.

        `learning_rate`: 0 for the optimizer's; for a step that moves next to nothing, a tiny one, such as 1e-30. `kind`: the name of a
        `train` block. `rates`: learning rates of groups, keyed by the group's first pattern."""
        entry = self._only if kind is None else self._entry(f"train.{kind}")
        if entry is None:
            trains = sorted(name[6:] for name in self._entries if name.startswith("train.") and name.count(".") == 1)
            raise Error(f"the job has several kinds of steps: kind is one of {trains}" if trains else "the model trains nothing: compile it "
                        "with a training spec")
        arrays, rows = entry.arrange(data), -1
        if type(data) is not np.ndarray and len(arrays) < len(data) and isinstance(data, Mapping) and (unknown := sorted(set(data) - self._known)):
            raise Error(f"'{entry.name}' takes {entry.keys}, found {unknown} as well")
        if self._forks != _forks or not self._handle:
            _ = self.handle  # raises the error
        with self._lock:
            keep = []
            for array, (port, dtype, row) in zip(arrays, entry.batches):
                shape = array.shape if type(array) is np.ndarray else None
                own = shape[0] if shape and array.dtype is dtype and shape[1:] == row else port.rows_of(array)
                if own != rows and own >= 0:
                    if rows >= 0:
                        raise Error(f"'{port.field}' has {own} rows, the fields before it {rows}")
                    rows = own
                try:
                    keep.append(from_buffer(array))
                except (BufferError, ValueError):
                    keep.append(buffer_of(array))
            if rows == 0:
                raise Error("expected 1 row or more, found 0")
            options, result = self._options, self._result
            if rows != self._rows:
                self._rows = rows
                options.samples = max(rows, 0)
            if learning_rate != self._rate:
                options.learning_rate = self._rate = _checked_rate(learning_rate)
            more: list = []
            if kind is not None or rates or momentum is not None:
                options = self._special(options, more, kind, rates or {}, momentum)
            if status := train_step_with(self._handle, options, keep, len(keep), result):
                check(status)
            # Equal to Step(...), which takes three times as long.
            return tuple.__new__(Step, (result.step, result.loss, result.gradient_norm, result.updated != 0, result.loss_scale))

    @staticmethod
    def _special(plain, keep: list, kind: str | None, rates: Mapping[str, float], momentum: float | None):
        """The options of a step that differs from the usual ones."""
        options = ffi.new("gradc_step_options *", plain[0])
        options.entry = keep_text(keep, kind)
        if rates:
            keep.append(ffi.new("gradc_group_rate[]", [{"size": ffi.sizeof("gradc_group_rate"), "group": keep_text(keep, group),
                                                        "learning_rate": _checked_rate(rate)}
                                                       for group, rate in rates.items()]))
            options.rates, options.rate_count = keep[-1], len(rates)
        if momentum is not None:
            keep.append(ffi.new("float *", momentum))
            options.momentum = keep[-1]
        return options

    def run(self, entry: str, data: Arrays | Sequence[np.ndarray] | np.ndarray, out: Arrays | None = None) -> dict[str, np.ndarray]:
        """The outputs of an entry, "forward" or another of `entries`, by name, for any number of rows. Random ops of the model draw the same
        numbers in each call, until `seed` chooses others.

        `out`: arrays for outputs, by name, in place of new ones. An array may be an input as well. Where the output is that input with
        some rows replaced, as a cache of keys and values is, only these rows are written if the array comes from `gradc.empty` or a run."""
        one = self._entry(entry)
        if one.others:
            raise Error(f"'{entry}' takes more than data: call step")
        arrays = [port.bytes_of(array) if port.is_text else array for port, array in zip(one.data, one.arrange(data))]
        counts = {rows for port, array in zip(one.data, arrays) if (rows := port.rows_of(array)) >= 0}
        if len(counts) > 1:
            raise Error(f"expected as many rows in each array, found {sorted(counts)}")
        total = counts.pop() if counts else -1
        if total == 0 and not all(port.batched for port in one.outputs):
            raise Error("expected 1 row or more, found 0")
        made = one.places({} if out is None else out, total)
        if out and total > (one.batch or 1):  # a later call would read what an earlier one has written
            arrays = [array.copy() if any(np.may_share_memory(array, own) for own in out.values()) else array for array in arrays]
        with self._own():
            if total < 0:
                self._call(one, one.batch or 1, arrays, made)
            for begin in range(0, max(total, 0), one.batch or 1):
                before = [made[i].copy() for i in one.sums] if begin else []
                self._chunk(one, begin, min(total, begin + one.batch) - begin, total, arrays, made)
                for i, value in zip(one.sums, before):
                    made[i] += value
        found = {port.name: array for port, array in zip(one.outputs, made)}
        for port in one.extents:  # an output whose extent the run has computed
            found[port.field] = found[port.field].take(range(int(found.pop(port.name))), axis=port.classes)
        for port in one.texts:
            found[port.name] = port.strings_of(found[port.name])
        return found

    def _chunk(self, entry: Entry, begin: int, rows: int, total: int, arrays, made) -> None:
        """Runs some rows. An entry with a fixed batch size gets them padded with rows of zeros, if rows do not mix."""
        inputs = [port.part(array, begin, rows) for port, array in zip(entry.data, arrays)]
        outputs = [port.part(array, begin, rows) for port, array in zip(entry.outputs, made)]
        fits = rows == entry.batch or (entry.any_rows and rows >= entry.least_rows)
        if entry.coupled and (begin or rows < total):
            raise Error(f"node '{entry.coupled}' mixes the rows of a call: expected at most {entry.batch}, found {total}")
        part = begin // (entry.batch or 1)  # random ops draw other numbers for each
        if fits:
            return self._call(entry, rows, inputs, outputs, part)
        if entry.coupled:
            raise Error(f"node '{entry.coupled}' mixes the rows of a call: expected {entry.batch}, found {rows}")
        if entry.sums:  # with the rows that would be added
            raise Error(f"'{entry.name}' sums over its rows: expected {entry.least_rows} or more at a time, found {rows}")
        padded = [np.concatenate([array, np.zeros(port.shape_of((entry.batch - rows) * port.per), port.dtype)], port.axis) if port.batched
                  else array for port, array in zip(entry.data, inputs)]
        whole = [np.empty(port.shape, port.dtype) for port in entry.outputs]
        self._call(entry, entry.batch, padded, whole, part)
        for port, found, place in zip(entry.outputs, whole, outputs):
            place[...] = port.part(found, 0, rows)

    def _call(self, entry: Entry, rows: int, inputs, outputs, part: int = 0) -> None:
        given, counter = iter([buffer_of(array) for array in inputs]), ffi.new("int32_t *", part)
        keep = [next(given) if port.role == lib.GRADC_ROLE_DATA else counter if port.role == lib.GRADC_ROLE_COUNTER else ffi.NULL
                for port in entry.inputs]  # the runtime counts rows, and has the seed
        places = [ffi.from_buffer(array, require_writable=True) for array in outputs]
        pointers, results = ffi.new("void *[]", keep or [ffi.NULL]), ffi.new("void *[]", places or [ffi.NULL])
        if entry.any_rows:
            check(lib.gradc_run_rows(self.handle, entry.number, rows, pointers, len(keep), results, len(outputs)))
        else:
            check(lib.gradc_run(self.handle, entry.number, pointers, len(keep), results, len(outputs)))

    def predict(self, data: Arrays | Sequence[np.ndarray] | np.ndarray) -> np.ndarray | dict[str, np.ndarray]:
        """The model's output for any number of rows; several outputs by name. Inputs are the model's or, with export { preprocessing }, the
        data's fields."""
        found = self.run("predict" if "predict" in self._entries else "forward", data)
        return next(iter(found.values())) if len(found) == 1 else found

    def _states(self) -> Iterator[tuple[int, object, str]]:
        for i in range(lib.gradc_state_count(self.handle)):
            info = described("gradc_state_info", lib.gradc_state_describe, self.handle, i)
            yield i, info, text(info.name)

    def state_dict(self, all_states: bool = False) -> dict[str, np.ndarray]:
        """The parameters, by the names of the model's initializers; `all_states`: optimizer slots, averages, and statistics as well."""
        found = {}
        with self._own():
            for i, info, name in self._states():
                if all_states or info.kind == lib.GRADC_STATE_PARAMETER:
                    found[name] = np.empty([info.shape[d] for d in range(info.rank)], DTYPES[info.dtype])
                    check(lib.gradc_state_get(self.handle, i, ffi.from_buffer(found[name], require_writable=True), info.bytes))
        return found

    def load_state_dict(self, values: Arrays) -> None:
        """Sets states by name; other states stay. If any value does not fit, no state changes."""
        with self._own():
            known = {name: (i, info) for i, info, name in self._states()}
            if unknown := sorted(set(values) - set(known)):
                raise Error(f"the model has no states {unknown}")
            for name, value in values.items():
                _, info = known[name]
                if not isinstance(value, (np.ndarray, np.generic)):
                    raise Error(f"'{name}' is a {type(value).__name__}, expected a numpy array")
                shape, dtype = [info.shape[d] for d in range(info.rank)], np.dtype(DTYPES[info.dtype])
                if list(value.shape) != shape or value.dtype != dtype:
                    raise Error(f"'{name}' is {value.dtype} {list(value.shape)}, expected {dtype} {shape}")
            for name, value in values.items():
                i, info = known[name]
                check(lib.gradc_state_set(self.handle, i, ffi.from_buffer(contiguous(value)), info.bytes))

    def _with_path(self, call, path: Path) -> None:
        with self._own():
            check(call(self.handle, path_bytes(path)))

    def save(self, path: Path) -> None:
        """Writes a checkpoint, atomically. If the session has loaded one of a training, or comes from train, training can resume from it:
        steps of the session do not move the position in the training data."""
        self._with_path(lib.gradc_checkpoint_save, path)

    def load(self, path: Path) -> None:
        """Loads a checkpoint's states and step number; a model without a training step takes the weights, or their averages (`ema`). A
        checkpoint of another model is refused, and the session stays as it was."""
        self._with_path(lib.gradc_checkpoint_load, path)

    def export(self, path: Path) -> None:
        """Writes the ONNX model with the session's parameters, atomically."""
        self._with_path(lib.gradc_export_onnx, path)

    def reset(self) -> None:
        with self._own():
            check(lib.gradc_state_reset(self.handle))

    def seed(self, seed: int) -> None:
        """Sets the seed of random ops; default: the job's."""
        check(lib.gradc_session_set_seed(self.handle, checked_seed(seed)))


class Model:
    """A compiled artifact. Artifacts are native code: opening a file runs it. A model cannot be pickled: another process opens its file."""

    def __init__(self, path: Path):
        """Opens an artifact, or an executable or library that contains one."""
        made = ffi.new("gradc_model **")
        check(lib.gradc_open(path_bytes(path), made))
        self.handle, self.path = ffi.gc(made[0], lib.gradc_close), os.fspath(path)
        self.arrays: Arrays = {}  # replace the source of its data
        self.inputs: set[str] = set()  # those of its module, also if the graph does not read them: steps may be given these
        info = described("gradc_model_info", lib.gradc_model_describe, self.handle)
        self.hash, self.trains = info.hash, bool(info.trains)
        self.levels = [text(lib.gradc_level_name(self.handle, i)) for i in range(info.levels)]

    def __reduce_ex__(self, protocol):
        raise TypeError("a model cannot be copied or pickled, expected its file to be opened: gradc.compile(..., output=FILE), and "
                        "gradc.Model(FILE) in the other process")

    def session(self, threads: int = 0, level: str | None = None) -> Session:
        return Session(self, threads, level)

    def learning_rate(self, steps: int, epochs: int = 0, kind: str | None = None, run_steps: int = 0, run_epochs: int = 0) -> float:
        """The learning rate of the job's schedule for the step after `steps` and `epochs`. `run_steps`, `run_epochs`: the length of
        the run; default: the job's. At 0, as a warm-up is first, pass at least a tiny rate on to `step`."""
        keep, rate = [], ffi.new("float *")
        query = ffi.new("gradc_rate_query *", {"size": ffi.sizeof("gradc_rate_query"), "entry": keep_text(keep, kind), "steps": steps,
                                               "epochs": epochs, "run_steps": run_steps, "run_epochs": run_epochs})
        check(lib.gradc_learning_rate(self.handle, query, rate))
        return rate[0]
