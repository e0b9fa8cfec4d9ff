"""Entries of a model and their ports: checks of the arrays of a call, and places for its results."""
from __future__ import annotations

import itertools
import operator
from collections.abc import Mapping, Sequence

import numpy as np

from gradc._interface import DTYPES, Arrays, Error, described, empty, text
from gradc._native import lib


class Port:
    """An input or output of an entry. If it is batched, the first dim above 1 counts rows: each has `per` of its elements."""

    def __init__(self, info):
        self.name, self.field, self.role, self.classes = text(info.name), text(info.field), info.role, info.classes
        self.dtype = np.dtype(DTYPES[info.dtype])
        self.shape = tuple(info.shape[i] for i in range(info.rank))
        self.batched, self.axis, self.per = bool(info.batched), 0, 1
        self.is_text = bool(info.text)

    def divide(self, batch: int) -> None:
        """Finds the rows of a batched port, of which a whole batch has `batch`."""
        if self.batched:
            self.axis = 0 if batch == 1 else next((i for i, size in enumerate(self.shape) if size > 1), 0)
            self.per = max(1, self.shape[self.axis] // batch)

    def shape_of(self, rows) -> tuple:
        return (*self.shape[:self.axis], rows, *self.shape[self.axis + 1:]) if self.batched else self.shape

    def part(self, array: np.ndarray, begin: int, rows: int) -> np.ndarray:
        """Some rows of an array; all of one that is not batched."""
        return array[(slice(None),) * self.axis + (slice(begin * self.per, (begin + rows) * self.per),)] if self.batched else array

    def bytes_of(self, strings) -> np.ndarray:
        """Converts strings, of numpy's types U or S or Python's own, to the port's form: UTF-8 bytes followed by zeros."""
        array, most = np.asarray(strings), self.shape[-1]
        if array.dtype == np.uint8:
            return array
        if array.dtype.kind not in "SUT" and not (array.dtype.kind == "O" and all(isinstance(one, str) for one in array.flat)):
            raise Error(f"'{self.name}' takes strings, found {array.dtype}")
        if array.dtype.kind != "S":
            try:
                array = np.char.encode(array.astype(str), "utf-8")
            except UnicodeEncodeError as error:
                raise Error(f"'{self.name}' has a string that UTF-8 has no bytes for: {error}") from None
        if (longest := int(np.char.str_len(array).max(initial=0))) > most:
            raise Error(f"'{self.name}' has a string of {longest} bytes, expected at most {most}: compile with string_bytes={longest}")
        return np.ascontiguousarray(array.astype(f"S{most}")).view(np.uint8).reshape(*array.shape, most)

    def strings_of(self, array: np.ndarray) -> np.ndarray:
        strings = np.ascontiguousarray(array).view(f"S{self.shape[-1]}")[..., 0]
        try:
            return np.char.decode(strings, "utf-8")
        except UnicodeDecodeError as error:
            raise Error(f"'{self.name}' has a string that is not UTF-8: {error}") from None

    def rows_of(self, array: np.ndarray) -> int:
        """Checks an array; returns its number of rows, or -1 if the port is not batched."""
        if not isinstance(array, (np.ndarray, np.generic)):
            raise Error(f"'{self.field or self.name}' is a {type(array).__name__}, expected a numpy array")
        count = array.shape[self.axis] if self.batched and len(array.shape) > self.axis else 0
        if array.dtype != self.dtype or array.shape != self.shape_of(count) or count % self.per:
            expected = self.shape_of("rows" if self.per == 1 else f"{self.per} * rows")
            raise Error(f"'{self.field or self.name}' has type {array.dtype} and shape {list(array.shape)}, expected {self.dtype} "
                        f"[{', '.join(map(str, expected))}]")
        return count // self.per if self.batched else -1


class Entry:
    def __init__(self, session, number: int):
        info = described("gradc_entry_info", lib.gradc_entry_describe, session, number)
        self.number, self.name, self.batch = number, text(info.name), info.batch
        self.any_rows, self.least_rows, self.coupled = bool(info.any_rows), info.least_rows, text(info.coupling_node)
        port = lambda call, i: Port(described("gradc_port_info", call, session, number, i))
        self.inputs = [port(lib.gradc_input_describe, i) for i in range(info.inputs)]
        self.outputs = [port(lib.gradc_output_describe, i) for i in range(info.outputs)]
        self.extents = [port for port in self.outputs if port.role == lib.GRADC_ROLE_EXTENT]
        self.texts = [port for port in self.outputs if port.is_text]
        self.data = [port for port in self.inputs if port.role == lib.GRADC_ROLE_DATA]
        own = (lib.GRADC_ROLE_DATA, lib.GRADC_ROLE_ROWS, lib.GRADC_ROLE_RANK_ROWS, lib.GRADC_ROLE_SEED, lib.GRADC_ROLE_COUNTER)
        self.others = [port for port in self.inputs if port.role not in own]
        self.sums = [i for i, port in enumerate(self.outputs) if port.role == lib.GRADC_ROLE_GRADIENT and not port.batched]
        if not self.any_rows and not self.coupled and not self.others and not self.sums and self.batch > 1:  # no port is marked
            for port in (*self.data, *self.outputs):
                port.batched = port.shape[:1] == (self.batch,)
        for port in (*self.inputs, *self.outputs):
            port.divide(self.batch)
        self.keys = [port.field or port.name for port in self.data]
        self.pick = operator.itemgetter(*self.keys) if len(self.keys) > 1 else lambda given: [given[key] for key in self.keys]
        # The checks of a step on each array: its type and the shape of a row. None: `rows_of` checks it.
        self.batches = [(port, port.dtype, port.shape[1:] if port.batched and port.axis == 0 and port.per == 1 else None) for port in self.data]

    def arrange(self, given) -> Sequence[np.ndarray]:
        """Arrays in the order of the entry's data inputs. Names are those of inputs or of the fields that feed them."""
        if type(given) is dict:
            try:
                return self.pick(given)
            except KeyError:
                pass  # look up the inputs' names, or raise an error
        if isinstance(given, (np.ndarray, np.generic)):
            given = [given]
        if isinstance(given, Mapping):
            try:
                return [given[port.field] if port.field in given else given[port.name] for port in self.data]
            except KeyError:
                raise Error(f"'{self.name}' takes {self.keys}, found {sorted(given)}") from None
        if not hasattr(given, "__len__"):
            raise Error(f"'{self.name}' takes {self.keys}, found a {type(given).__name__}")
        if len(given) != len(self.data):
            takes = f"{len(self.data)} array{'s' * (len(self.data) != 1)}"
            if all(isinstance(one, np.ndarray) for one in given):
                raise Error(f"'{self.name}' takes {takes}, found {len(given)}")
            raise Error(f"'{self.name}' takes {takes}, found a {type(given).__name__} of {type(given[0]).__name__}: make it an array with "
                        "numpy.array")
        return list(given)

    def places(self, out: Arrays, total: int) -> list[np.ndarray]:
        """An array for each output of `total` rows: one of `out`, or a new one."""
        computed = {name for port in self.extents for name in (port.name, port.field)}  # the run finds how long they are
        names = [port.name for port in self.outputs if not port.is_text and port.name not in computed]
        if not isinstance(out, Mapping):
            raise Error(f"out is a {type(out).__name__}, expected a dict of arrays for some of {names}")
        if unknown := sorted(set(out) - set(names)):
            raise Error(f"'{self.name}' returns {names}, found {unknown}")
        for port in self.outputs:
            array = out.get(port.name)
            if array is None:
                continue
            if port.rows_of(array) not in (-1, total):
                raise Error(f"'{port.name}' has {port.rows_of(array)} rows, the inputs {total}")
            if not array.flags.c_contiguous or not array.flags.writeable:
                raise Error(f"'{port.name}' is read-only or not contiguous, expected an array as gradc.empty returns it")
        for one, other in itertools.combinations([name for name in names if out.get(name) is not None], 2):
            if np.may_share_memory(out[one], out[other]):  # exact, as both are contiguous
                raise Error(f"'{one}' and '{other}' share memory, expected an array for each")
        return [empty(port.shape_of(total * port.per), port.dtype) if out.get(port.name) is None else out[port.name] for port in self.outputs]
