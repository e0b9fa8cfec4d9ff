"""The Python package on models without a spec: runs of any number of rows, outputs, caches, gradients, and strings.

    models.py [TEST ...]
"""
import os
import sys
import tempfile
import unittest

import numpy as np

import gradc

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from onnx_writer import BOOL, FLOAT, INT32, INT64, STRING, Model


class Models(unittest.TestCase):
    def test_an_output_is_as_long_as_its_run_finds(self):
        model = Model("positions")
        model.output(model.node("NonZero", [model.input("x", FLOAT, [3, 4])], ["positions"], "nonzero"), INT64, [2, "K"])
        with tempfile.TemporaryDirectory() as folder:
            model.save(os.path.join(folder, "positions.onnx"))
            session = gradc.compile(os.path.join(folder, "positions.onnx")).session()
        for x in np.eye(3, 4, dtype=np.float32), np.zeros((3, 4), np.float32):
            np.testing.assert_array_equal(session.predict(x), np.nonzero(x))
            self.assertEqual(list(session.run("forward", x)), ["positions"])

    def test_a_model_may_read_its_number_of_rows(self):
        model = Model("shares")
        x = model.input("x", FLOAT, ["N", 3])
        rows = model.node("Gather", [model.node("Shape", [x], ["shape"], "shape"), model.initializer("first", INT64, [], [0])], ["rows"], "size")
        model.output(model.node("Div", [x, model.node("Cast", [rows], ["count"], "cast", to=FLOAT)], ["y"], "share"), FLOAT, ["N", 3])
        session = gradc.compile(model.bytes(), shapes={"x": (4, 3)}).session()
        for count in 1, 3, 4:
            x = np.arange(3 * count, dtype=np.float32).reshape(count, 3)
            np.testing.assert_array_equal(session.predict(x), x / np.float32(count))

    def test_rows_may_lie_inside_other_dims(self):
        """As in attention layers of PyTorch, whose sequences come first. A batch of fixed size is filled up, and many rows are several."""
        model = Model("sequences")
        x = model.input("x", FLOAT, ["N", 3, 2])
        flat = model.node("Reshape", [model.node("Transpose", [x], ["steps"], "first", perm=[1, 0, 2]),
                                      model.initializer("rows", INT64, [2], [-1, 2])], ["flat"], "join")
        product = model.node("MatMul", [flat, model.initializer("w", FLOAT, [2, 2], [1, 2, 3, 4])], ["product"], "product")
        split = model.node("Reshape", [product, model.initializer("split", INT64, [3], [3, -1, 2])], ["parts"], "divide")
        model.output(model.node("Transpose", [split], ["y"], "last", perm=[1, 0, 2]), FLOAT, ["N", 3, 2])
        session = gradc.compile(model.bytes(), shapes={"x": (4, 3, 2)}).session()
        for count in 1, 4, 10:
            x = np.arange(6 * count, dtype=np.float32).reshape(count, 3, 2)
            np.testing.assert_array_equal(session.predict(x), x @ np.array([[1, 2], [3, 4]], np.float32))

    def test_rows_may_follow_ones_and_be_joined_with_other_dims(self):
        x = np.arange(13 * 4 * 2, dtype=np.float32).reshape(13, 4, 2)
        for shape in [1, -1, 8], [-1, 2], [1, -1, 2]:
            model = Model("shaped")
            given = model.input("x", FLOAT, ["N", 4, 2])
            model.output(model.node("Reshape", [given, model.initializer("shape", INT64, [len(shape)], shape)], ["y"], "reshape"), FLOAT,
                         [size if size > 0 else "K" for size in shape])
            session = gradc.compile(model.bytes(), shapes={"x": (6, 4, 2)}).session()
            for count in 1, 3, 6, 8, 13:
                np.testing.assert_array_equal(session.predict(x[:count]), x[:count].reshape(shape))

    def test_large_outputs_are_written_where_they_are_wanted(self):
        """Directly if that overlaps nothing; the results are the same in any case."""
        from gradc._native import ffi, lib
        rows, width = 3, 1 << 15
        model = Model("turned")
        x = model.input("x", FLOAT, ["N", width])
        def part(name, begin, end):
            return model.node("Slice", [x, *(model.initializer(f"{name}.{i}", INT64, [1], [n]) for i, n in enumerate((begin, end, 1)))], [name], name)
        model.output(model.node("Concat", [part("last", width - 1, width), part("others", 0, width - 1)], ["y"], "turn", axis=1), FLOAT, ["N", width])
        session = gradc.compile(model.bytes(), shapes={"x": (rows, width)}).session()
        x = np.arange(rows * width, dtype=np.float32).reshape(rows, width)
        y = session.predict(x)
        np.testing.assert_array_equal(y, np.roll(x, 1, axis=1))
        np.testing.assert_array_equal(session.predict(y), np.roll(x, 2, axis=1))
        memory = np.empty(3 * x.nbytes + 64, np.uint8)
        base = -memory.ctypes.data % 64
        entry = session._entry("forward")
        for source, target, count in (0, x.nbytes, rows), (0, x.nbytes, 2), (0, 0, rows), (0, 64, rows), (64, 0, rows), (0, x.nbytes + 4, rows):
            place = lambda begin: memory[base + begin:base + begin + count * width * 4].view(np.float32).reshape(count, width)
            place(source)[...] = x[:count]
            pointers = [ffi.new("void *[]", [ffi.cast("void *", place(begin).ctypes.data)]) for begin in (source, target)]
            status = lib.gradc_run_rows(session.handle, entry.number, count, pointers[0], 1, pointers[1], 1)
            self.assertEqual(status, 0)
            np.testing.assert_array_equal(place(target), np.roll(x[:count], 1, axis=1), f"{source} to {target}, {count} rows")

    def test_outputs_of_one_value_or_over_each_other(self):
        from gradc._native import ffi, lib
        rows, width = 2, 1 << 15
        model = Model("several")
        x = model.input("x", FLOAT, ["N", width])
        y = model.node("Relu", [x], ["y"], "relu")
        for name in (y, model.node("Identity", [y], ["again"], "again"), model.node("Neg", [x], ["z"], "neg"), model.node("Identity", [x], ["same"], "same")):
            model.output(name, FLOAT, ["N", width])
        session = gradc.compile(model.bytes(), shapes={"x": (rows, width)}).session()
        x = np.arange(-width, width, dtype=np.float32).reshape(rows, width)
        expected = [np.maximum(x, 0), np.maximum(x, 0), -x, x]
        memory = np.empty(5 * x.nbytes + 64, np.uint8)
        base = -memory.ctypes.data % 64
        place = lambda i: memory[base + i * x.nbytes:base + (i + 1) * x.nbytes].view(np.float32).reshape(x.shape)
        place(0)[...] = x
        for wanted in range(16):
            for i in range(1, 5):
                place(i)[...] = 7
            outputs = [ffi.cast("void *", place(i + 1).ctypes.data) if wanted >> i & 1 else ffi.NULL for i in range(4)]
            self.assertEqual(lib.gradc_run(session.handle, session._entry("forward").number, ffi.new("void *[]", [ffi.cast("void *", place(0).ctypes.data)]), 1,
                                           ffi.new("void *[]", outputs), 4), 0)
            for i, value in enumerate(expected):
                np.testing.assert_array_equal(place(i + 1), value if wanted >> i & 1 else np.full_like(x, 7), f"output {i} of {wanted:b}")
        both = [ffi.cast("void *", place(1).ctypes.data)] * 2  # the later one wins
        self.assertEqual(lib.gradc_run(session.handle, session._entry("forward").number, ffi.new("void *[]", [ffi.cast("void *", place(0).ctypes.data)]), 1,
                                       ffi.new("void *[]", [both[0], ffi.NULL, both[1], ffi.NULL]), 4), 0)
        np.testing.assert_array_equal(place(1), expected[2])

    def test_a_cache_is_updated_where_it_is(self):
        """Steps of a decoder with caches of keys and values: in buffers that all steps share, and in others."""
        batch, heads, room, width, steps = 2, 4, 128, 32, 2
        model = Model("decoder", opset=24)
        at, length = (model.input(name, INT64, [batch]) for name in ("at", "length"))
        new = {name: model.input(name, FLOAT, [batch, heads, steps, width]) for name in ("query", "key", "value")}
        for name in "key", "value":
            past = model.input(f"past_{name}", FLOAT, [batch, heads, room, width])
            model.output(model.node("TensorScatter", [past, new[name], at], [f"present_{name}"], f"cache_{name}", axis=2), FLOAT,
                         [batch, heads, room, width])
        model.output(model.node("Attention", [new["query"], "present_key", "present_value", "", "", "", length], ["y"], "attention"), FLOAT,
                     [batch, heads, steps, width])
        compiled, random = gradc.compile(model.bytes()), np.random.default_rng(1)
        draw = lambda size: random.standard_normal((batch, heads, size, width), np.float32)
        caches = {name: gradc.empty((batch, heads, room, width), np.float32) for name in ("key", "value")}
        for cache in caches.values():
            cache[...] = draw(room)
        wanted = {name: cache.copy() for name, cache in caches.items()}
        with compiled.session(threads=1) as one, compiled.session(threads=2) as two:
            for step in range(4):
                at = np.array([3 + step * steps, 100 + step * steps])
                given = {"at": at, "length": at + steps, "query": draw(steps), "key": draw(steps), "value": draw(steps)}
                for name, cache in wanted.items():
                    for row, start in enumerate(at):
                        cache[row, :, start:start + steps] = given[name][row]
                scores = given["query"] @ wanted["key"].transpose(0, 1, 3, 2) / np.sqrt(width)
                scores[np.broadcast_to(np.arange(room) >= given["length"][:, None, None, None], scores.shape)] = -np.inf
                weights = np.exp(scores - scores.max(-1, keepdims=True))
                y = weights / weights.sum(-1, keepdims=True) @ wanted["value"]
                given |= {f"past_{name}": cache for name, cache in caches.items()}
                apart = one.run("forward", given)
                shared = two.run("forward", given, out={f"present_{name}": cache for name, cache in caches.items()})
                np.testing.assert_allclose(apart["y"], y, rtol=1e-4, atol=1e-5)
                np.testing.assert_array_equal(shared["y"], apart["y"])
                for name, cache in caches.items():
                    self.assertIs(shared[f"present_{name}"], cache)
                    np.testing.assert_array_equal(cache, wanted[name])
                    np.testing.assert_array_equal(apart[f"present_{name}"], wanted[name])
            # A start behind the end: nothing is written over the rows of the next head.
            with self.assertRaisesRegex(gradc.Error, "index 128 is out of range, expected -128 to 127"):
                two.run("forward", {**given, "at": np.array([room - 1, 0])}, out={f"present_{name}": cache for name, cache in caches.items()})
            for name, cache in caches.items():
                wanted[name][0, :, -1] = given[name][0, :, 0]
                wanted[name][1, :, :steps] = given[name][1]
                np.testing.assert_array_equal(cache, wanted[name])

    def test_grouped_attention_updates_its_cache(self):
        """One row of a batch of any size, whose bucket is in place, and two of a fixed batch."""
        room, width = 512, 64
        for batch, rows in ("N", 1), ("N", 2), (2, 2):
            model = Model("grouped", opset=21)
            new = [model.input(name, FLOAT, [batch, 1, size]) for name, size in (("query", 2 * width), ("key", width), ("value", width))]
            past = [model.input(f"past_{name}", FLOAT, [batch, 1, room, width]) for name in ("key", "value")]
            names = ["y", "present_key", "present_value"]
            model.node("GroupQueryAttention", [*new, *past, model.input("last", INT32, [batch]), model.initializer("total", INT32, [], [room])],
                       names, "attention", domain="com.microsoft", num_heads=2, kv_num_heads=1)
            for name, dims in zip(names, ([batch, 1, 2 * width], *[[batch, 1, room, width]] * 2)):
                model.output(name, FLOAT, dims)
            shapes = {name: (2, 1, size) for name, size in (("query", 2 * width), ("key", width), ("value", width))}
            shapes |= {f"past_{name}": (2, 1, room, width) for name in ("key", "value")} | {"last": (2,)}
            session, random = gradc.compile(model.bytes(), shapes=shapes if batch == "N" else None).session(), np.random.default_rng(2)
            caches = {name: gradc.empty((rows, 1, room, width), np.float32) for name in ("key", "value")}
            for cache in caches.values():
                cache[...] = random.standard_normal(cache.shape, np.float32)
            for last in 7, 8, room - 1:
                given = {name: random.standard_normal((rows, 1, size), np.float32) for name, size in (("query", 2 * width), ("key", width), ("value", width))}
                given |= {"last": np.full(rows, last, np.int32)} | {f"past_{name}": cache for name, cache in caches.items()}
                wanted = {name: cache.copy() for name, cache in caches.items()}
                for name, cache in wanted.items():
                    cache[:, 0, last] = given[name][:, 0]
                apart = session.run("forward", given)
                shared = session.run("forward", given, out={f"present_{name}": cache for name, cache in caches.items()})
                np.testing.assert_array_equal(shared["y"], apart["y"])
                for name, cache in caches.items():
                    np.testing.assert_array_equal(cache, wanted[name])
                    np.testing.assert_array_equal(apart[f"present_{name}"], wanted[name])
            with self.assertRaisesRegex(gradc.Error, "index -513 is out of range"):  # a position before the cache
                session.run("forward", {**given, "last": np.full(rows, -1, np.int32)})

    def test_shapes_of_one_input_bind_the_symbols_of_others(self):
        model = Model("shared")
        caches = [model.input(f"past.{i}", FLOAT, ["N", "length"]) for i in range(3)]
        model.output(model.node("Sum", caches, ["y"], "sum"), FLOAT, ["N", "length"])
        with self.assertRaisesRegex(gradc.CompileError, r"bind it with shapes=\{'past\.0': \[1, 1\]\}, which binds it in all inputs"):
            gradc.compile(model.bytes())
        session = gradc.compile(model.bytes(), shapes={"past.1": (2, 5)}).session()
        found = session.run("forward", {name: np.ones((2, 5), np.float32) for name in caches})
        np.testing.assert_array_equal(found["y"], np.full((2, 5), 3, np.float32))

    def test_entries_for_other_shapes_share_the_weights(self):
        """A prompt of three tokens, then one more by the entry for one token, against a prompt of four."""
        room, width, features = 64, 64, 600
        random, model = np.random.default_rng(3), Model("decoder", opset=21)
        x = model.input("x", FLOAT, [1, "steps", features])
        past = [model.input(f"past_{name}", FLOAT, [1, 1, room, width]) for name in ("key", "value")]
        weights = [(name, random.standard_normal((features, size)) / 20) for name, size in (("query", 2 * width), ("key", width), ("value", width))]
        new = [model.node("MatMul", [x, model.initializer(name, FLOAT, weight.shape, weight.ravel().tolist())], [f"{name}s"], name)
               for name, weight in weights]
        names = ["y", "present_key", "present_value"]
        model.node("GroupQueryAttention", [*new, *past, model.input("last", INT32, [1]), model.initializer("total", INT32, [], [room])], names,
                   "attention", domain="com.microsoft", num_heads=2, kv_num_heads=1)
        for name, dims in zip(names, ([1, "steps", 2 * width], *[[1, 1, room, width]] * 2)):
            model.output(name, FLOAT, dims)
        tokens = random.standard_normal((1, 4, features), np.float32)
        empty = {f"past_{name}": np.zeros((1, 1, room, width), np.float32) for name in ("key", "value")}
        with tempfile.TemporaryDirectory() as folder:
            whole = gradc.compile(model.bytes(), shapes={"x": (1, 4, features)}, output=f"{folder}/whole.so")
            both = gradc.compile(model.bytes(), shapes={"x": (1, 3, features)}, entries={"step": {"x": (1, 1, features)}}, output=f"{folder}/both.so")
            more = os.path.getsize(f"{folder}/both.so") - os.path.getsize(f"{folder}/whole.so")
            self.assertLess(more, sum(weight.size for _, weight in weights) * 4)
            session = both.session()
            prompt = session.run("forward", {"x": tokens[:, :3], "last": np.array([2], np.int32), **empty})
            step = session.run("forward.step", {"x": tokens[:, 3:], "last": np.array([3], np.int32), "past_key": prompt["present_key"],
                                                "past_value": prompt["present_value"]})
            wanted = whole.session().run("forward", {"x": tokens, "last": np.array([3], np.int32), **empty})
        np.testing.assert_allclose(step["y"], wanted["y"][:, 3:], atol=1e-6)
        np.testing.assert_allclose(step["present_key"], wanted["present_key"], atol=1e-6)
        with self.assertRaisesRegex(gradc.CompileError, r"entries\['step'\]: graph input \"z\" is not in the model"):
            gradc.compile(model.bytes(), shapes={"x": (1, 3, features)}, entries={"step": {"z": (1,)}})

    def test_outputs_go_to_given_arrays(self):
        model = Model("several")
        x = model.input("x", FLOAT, ["N", 3])
        model.output(model.node("Neg", [x], ["y"], "neg"), FLOAT, ["N", 3])
        model.output(model.node("Relu", [x], ["z"], "relu"), FLOAT, ["N", 3])
        session = gradc.compile(model.bytes(), shapes={"x": (2, 3)}).session()
        x = np.arange(-6, 9, dtype=np.float32).reshape(5, 3)
        y = gradc.empty((5, 3), np.float32)
        found = session.run("forward", x, out={"y": y})
        self.assertIs(found["y"], y)
        np.testing.assert_array_equal(y, -x)
        np.testing.assert_array_equal(found["z"], np.maximum(x, 0))
        expected = -x
        session.run("forward", x, out={"y": x})  # several calls, each of two rows
        np.testing.assert_array_equal(x, expected)
        read_only = np.zeros((5, 3), np.float32)
        read_only.flags.writeable = False
        for out, message in (({"v": y}, r"'forward' returns \['y', 'z'\], found \['v'\]"), ({"y": y[:4]}, "'y' has 4 rows, the inputs 5"),
                             ({"y": y.astype(np.float64)}, r"'y' has type float64 and shape \[5, 3\], expected float32 \[rows, 3\]"),
                             ({"z": read_only}, "'z' is read-only or not contiguous"), ({"z": np.zeros((3, 5), np.float32).T}, "'z' is read-only or not"),
                             ({"z": [1]}, "'z' is a list, expected a numpy array"), ({"y": y, "z": y}, "'y' and 'z' share memory, expected an array for each"),
                             (y, r"out is a ndarray, expected a dict of arrays for some of \['y', 'z'\]"), ([y], "out is a list, expected a dict")):
            with self.assertRaisesRegex(gradc.Error, message):
                session.run("forward", x, out=out)

    def test_rows_that_are_not_outermost_are_one_batch(self):
        model = Model("turned")
        model.output(model.node("Transpose", [model.input("x", FLOAT, ["N", 4])], ["y"], "turn", perm=[1, 0]), FLOAT, [4, "N"])
        session = gradc.compile(model.bytes(), shapes={"x": (4, 4)}).session()
        x = np.arange(16, dtype=np.float32).reshape(4, 4)
        np.testing.assert_array_equal(session.predict(x), x.T)
        for rows in x[:2], np.concatenate([x, x]):
            with self.assertRaises(gradc.Error):
                session.predict(rows)

    def test_rows_mix_beside_an_input_without_rows(self):
        model = Model("shared")
        t, x = model.input("t", FLOAT, [9, 3]), model.input("x", FLOAT, ["N", 3])
        flat = model.node("Reshape", [x, model.initializer("shape", INT64, [2], [3, -1])], ["flat"], "mix")
        model.output(model.node("MatMul", [t, model.node("Softmax", [flat], ["soft"], "soft", axis=1)], ["y"], "product"), FLOAT, [9, "N"])
        session = gradc.compile(model.bytes(), shapes={"x": (4, 3)}).session()
        t, x = np.ones((9, 3), np.float32), np.zeros((4, 3), np.float32)
        np.testing.assert_allclose(session.predict({"t": t, "x": x}), np.full((9, 4), 0.75), rtol=1e-6)

    def test_gradients_leave_out_elements_that_a_run_lacks(self):
        x = np.random.default_rng(5).normal(size=(6, 4)).astype(np.float32)
        shares = {"Softmax": lambda rows: np.exp(rows) / np.exp(rows).sum(0), "LogSoftmax": lambda rows: rows - np.log(np.exp(rows).sum(0))}
        for op, expected in shares.items():
            model = Model("kept")
            rows = model.node("Compress", [model.input("x", FLOAT, [6, 4]), model.input("keep", BOOL, [6])], ["rows"], "compress", axis=0)
            scaled = model.node("Mul", [model.node(op, [rows], ["shares"], "shares", axis=0), model.input("w", FLOAT, [4])], ["scaled"], "scale")
            model.output(model.node("ReduceSum", [scaled], ["y"], "sum", keepdims=0), FLOAT, [])
            session = gradc.compile(model.bytes(), 'gradients { of: "y" with_respect_to: "w" }').session()
            for keep in [True, False, True, True, False, False], [True] * 6, [False] * 6:
                found = session.run("gradients", {"x": x, "keep": np.array(keep), "w": np.ones(4, np.float32)})["dy/dw"]
                wanted = expected(x[keep]).sum(0) if any(keep) else np.zeros(4)
                np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-5)

    def test_gradients_leave_out_updates_that_a_run_lacks(self):
        numbers = np.random.default_rng(6)
        x, t, c = (numbers.normal(size=6).astype(np.float32) for _ in range(3))
        share = {"add": lambda u, t: 1, "mul": lambda u, t: t, "max": lambda u, t: u > t, "min": lambda u, t: u < t, "none": lambda u, t: 1}
        for op in "ScatterElements", "ScatterND":
            for reduction, slope in share.items():
                model = Model("kept", opset=18)
                zero, one = (model.initializer(name, INT64, [1], [axis]) for name, axis in (("zero", 0), ("one", 1)))
                found = model.node("NonZero", [model.input("keep", BOOL, [6])], ["found"], "nonzero")
                places = model.node("Squeeze", [found, zero], ["places"], "places")
                tuples = model.node("Unsqueeze", [places, one], ["tuples"], "tuples")
                kept = model.node("Gather", [model.input("x", FLOAT, [6]), places], ["kept"], "pick")
                updates = model.node("Add", [kept, model.input("b", FLOAT, [1])], ["updates"], "shift")
                scattered = model.node(op, [model.input("t", FLOAT, [6]), tuples if op == "ScatterND" else places, updates], ["scattered"], "scatter",
                                       reduction=reduction)
                scaled = model.node("Mul", [scattered, model.input("c", FLOAT, [6])], ["scaled"], "scale")
                model.output(model.node("ReduceSum", [scaled], ["y"], "sum", keepdims=0), FLOAT, [])
                session = gradc.compile(model.bytes(), 'gradients { of: "y" with_respect_to: "b" }', target="cpu").session()
                for keep in [True, False, True, True, False, False], [True] * 6, [False] * 6:
                    gradient = session.run("gradients", {"keep": np.array(keep), "x": x, "b": np.ones(1, np.float32), "t": t, "c": c})["dy/db"]
                    wanted = (c * slope(x + 1, t))[keep].sum()
                    np.testing.assert_allclose(gradient, [wanted], rtol=1e-5, atol=1e-5)

    def test_a_loss_of_the_rows_that_a_run_has_is_that_of_these_rows(self):
        numbers = np.random.default_rng(8)
        x, w, y = numbers.normal(size=(6, 4)).astype(np.float32), numbers.normal(size=(4, 3)).astype(np.float32), np.array([0, 2, 1, 1, 2, 0])
        scale, bias = numbers.normal(size=(2, 4)).astype(np.float32)

        def derivatives(rows, selects, norm, reduction):
            model = Model("kept", opset=23)
            names = ["x", "y"]
            model.input("x", FLOAT, [rows, 4]), model.input("y", INT64, [rows])
            if selects:
                model.input("keep", BOOL, [rows])
                names = [model.node("Compress", [name, "keep"], ["kept_" + name], "keep_" + name, axis=0) for name in names]
            weights = [model.input("scale", FLOAT, [4]), model.input("bias", FLOAT, [4])]
            normed = model.node(norm, [names[0], *weights[:1 if norm == "RMSNormalization" else 2]], ["normed"], "norm", axis=-1)
            logits = model.node("MatMul", [model.node("Add", [normed, "bias"], ["shifted"], "shift"), model.input("w", FLOAT, [4, 3])], ["logits"], "fc")
            model.output(model.node("SoftmaxCrossEntropyLoss", [logits, names[1]], ["loss"], "loss", reduction=reduction, ignore_index=1), FLOAT, [])
            targets = ("x", "scale", "bias", "w")
            spec = "".join(f'gradients {{ of: "loss" with_respect_to: "{target}" }}\n' for target in targets)
            return gradc.compile(model.bytes(), spec, target="cpu").session()

        for norm in "LayerNormalization", "RMSNormalization":
            for reduction in "mean", "sum":
                session = derivatives(6, True, norm, reduction)
                shared = {"scale": scale, "bias": bias, "w": w}
                for keep in np.array([True, False, True, True, False, False]), np.array([True] * 6):
                    found = session.run("gradients", {"x": x, "y": y, "keep": keep, **shared})
                    wanted = derivatives(int(keep.sum()), False, norm, reduction).run("gradients", {"x": x[keep], "y": y[keep], **shared})
                    self.assertFalse(found["dloss/dx"][~keep].any())
                    found["dloss/dx"] = found["dloss/dx"][keep]
                    for name, value in wanted.items():
                        np.testing.assert_allclose(found[name], value, rtol=1e-5, atol=1e-6)

    def test_random_ops_of_a_model_draw_by_the_seed(self):
        model = Model("noise")
        noise = model.node("RandomNormalLike", [model.input("x", FLOAT, ["N", 3])], ["noise"], "noise")
        model.output(model.node("Add", ["x", noise], ["y"], "add"), FLOAT, ["N", 3])
        session = gradc.compile(model.bytes(), shapes={"x": (4, 3)}, target="cpu").session()
        x = np.zeros((6, 3), np.float32)
        first = session.predict(x)
        self.assertEqual(len(np.unique(first)), 18, "the second part has numbers of its own")
        np.testing.assert_array_equal(session.predict(x), first)
        np.testing.assert_array_equal(session.predict(x[:4]), first[:4])
        session.seed(7)
        self.assertFalse((session.predict(x) == first).any())

    def test_the_row_of_padding_gets_no_gradient(self):
        rows, c = np.array([[1, 3, 1], [0, 1, 2]]), np.array([2, -1], np.float32)
        reads = np.array([1, 3, 1, 1], np.float32)
        for arguments, padding in ("%p_table, %rows, 1", 1), ("%p_table, %rows, 0, False, True", 0), ("%p_table, %rows, -1", None), ("%p_table, %rows", None):
            model = Model("embedding")
            read = model.node("Gather", [model.input("table", FLOAT, [4, 2]), model.input("rows", INT64, [2, 3])], ["read"], "embedding")
            model.record(f"%embedding : call_function[target=torch.ops.aten.embedding.default](args = ({arguments}), kwargs = {{}})")
            scaled = model.node("Mul", [read, model.input("c", FLOAT, [2])], ["scaled"], "scale")
            model.output(model.node("ReduceSum", [scaled], ["y"], "sum", keepdims=0), FLOAT, [])
            session = gradc.compile(model.bytes(), 'gradients { of: "y" with_respect_to: "table" }', target="cpu").session()
            table = np.arange(8, dtype=np.float32).reshape(4, 2)
            found = session.run("gradients", {"table": table, "rows": rows, "c": c})
            wanted = reads[:, None] * c
            if padding is not None:
                wanted[padding] = 0
            np.testing.assert_array_equal(found["dy/dtable"], wanted)
            np.testing.assert_allclose(found["y"], (table[rows] * c).sum())

    @staticmethod
    def mean_of_updates(dtype, keywords):
        """PyTorch's scatter_reduce as its exporter writes it: it leaves out the reduction, and clears elements that do not take part."""
        model = Model("mean")
        data, places, updates = (model.input(name, type, shape) for name, type, shape in (
            ("data", dtype, [4, 2]), ("places", INT64, [3, 2]), ("updates", dtype, [3, 2])))
        call = f"%mean : call_function[target=torch.ops.aten.scatter_reduce.two](args = (%data, 0, %places, %updates, mean), kwargs = {{{keywords}}})"
        if keywords:
            zeros = model.node("ConstantOfShape", [model.initializer("shape", INT64, [2], [3, 2])], ["zeros"], "zeros")
            data = model.node("ScatterElements", [data, places, zeros], ["cleared"], "clear", axis=0)
            model.record(call)
        result = model.node("ScatterElements", [data, places, updates], ["y"], "mean", axis=0)
        model.record(call)
        model.output(result, dtype, [4, 2])
        return model

    def test_a_mean_of_updates_that_the_exporter_has_recorded(self):
        data, updates = np.arange(8, dtype=np.float32).reshape(4, 2), np.array([[1, 2], [4, 8], [16, 32]], np.float32)
        places = np.array([[0, 2], [0, 1], [2, 2]])
        sums, counts = np.zeros((4, 2), np.float32), np.zeros((4, 2), np.float32)
        for (row, column), place in np.ndenumerate(places):
            sums[place, column] += updates[row, column]
            counts[place, column] += 1
        for keywords, own in ("", 1), ("include_self: False", np.where(counts == 0, 1, 0)):
            model = self.mean_of_updates(FLOAT, keywords)
            session = gradc.compile(model.bytes(), 'gradients { of: "y" with_respect_to: "data" with_respect_to: "updates" }', target="cpu").session()
            found = session.run("gradients", {"data": data, "places": places, "updates": updates})
            np.testing.assert_allclose(found["y"], (data * own + sums) / (own + counts), rtol=1e-6)
            np.testing.assert_allclose(found["dy/ddata"], own / (own + counts), rtol=1e-6)
            np.testing.assert_allclose(found["dy/dupdates"], np.take_along_axis(1 / (own + counts), places, 0), rtol=1e-6)

    def test_a_mean_of_integers_is_refused(self):
        with self.assertRaisesRegex(gradc.CompileError, r'node "mean": error: ScatterElements expected a float as operand 0 \("data"'):
            gradc.compile(self.mean_of_updates(INT64, "").bytes())

    def test_gradients_are_added_over_batches(self):
        with tempfile.TemporaryDirectory() as folder:
            model = Model("line")
            y = model.node("MatMul", [model.input("x", FLOAT, ["N", 2]), model.initializer("w", FLOAT, [2, 1], [1, 2])], ["y"], "product")
            model.output(y, FLOAT, ["N", 1])
            model.save(os.path.join(folder, "line.onnx"))
            spec = os.path.join(folder, "line.textproto")
            with open(spec, "w") as file:
                file.write('model: "line.onnx" gradients { of: "y" with_respect_to: "w" } chunk: 4')
            session = gradc.compile(spec).session()
        found = session.run("gradients", np.ones((10, 2), np.float32))
        gradient = next(value for name, value in found.items() if name != "y")
        np.testing.assert_array_equal(gradient.reshape(-1), [10, 10])

    def test_strings_go_in_and_out(self):
        model = Model("words", opset=10)
        model.output(model.node("StringNormalizer", [model.input("x", STRING, [3])], ["y"], "lower", case_change_action="LOWER",
                                stopwords=["the"]), STRING, ["K"])
        session = gradc.compile(model.bytes(), string_bytes=12).session()
        for given in ["The", "Étage", "B"], np.array(["The", "Étage", "B"]), np.char.encode(["The", "Étage", "B"], "utf-8"):
            self.assertEqual(session.predict({"x": given}).tolist(), ["étage", "b"])
        self.assertEqual(session.predict({"x": ["the", "the", "THE"]}).tolist(), [""])
        with self.assertRaisesRegex(gradc.Error, "'x' has a string of 13 bytes, expected at most 12: compile with string_bytes=13"):
            session.predict({"x": ["a" * 13, "", ""]})
        with self.assertRaisesRegex(gradc.Error, "lower.*cannot change the case of a string"):
            session.predict({"x": ["\u2126", "", ""]})

    def test_what_weights_determine_follows_them(self):
        model, sizes = Model("factors"), {"down": (96, 64), "up": (64, 96)}
        values = {name: np.random.default_rng(len(name)).normal(size=shape).astype(np.float32) for name, shape in sizes.items()}
        factors = [model.initializer(name, FLOAT, value.shape, value.ravel().tolist()) for name, value in values.items()]
        product = model.node("MatMul", factors, ["product"], "product")
        model.output(model.node("MatMul", [model.input("x", FLOAT, ["N", 96]), product], ["y"], "y"), FLOAT, ["N", 96])
        x = np.ones((5, 96), np.float32)

        def expect(session, down, up):
            np.testing.assert_allclose(session.predict(x), x @ (down.astype(float) @ up), rtol=1e-4, atol=1e-3)

        compiled = gradc.compile(model.bytes(), shapes={"x": (8, 96)})
        with compiled.session() as session, compiled.session() as other:
            expect(session, **values)
            session.load_state_dict({"up": 2 * values["up"]})
            session.load_state_dict({"down": -values["down"]})
            expect(session, -values["down"], 2 * values["up"])
            expect(other, **values)
            self.assertEqual(sorted(session.state_dict(all_states=True)), ["down", "up"])
            with tempfile.TemporaryDirectory() as folder:
                session.save(os.path.join(folder, "one.ckpt"))
                other.load(os.path.join(folder, "one.ckpt"))
            expect(other, -values["down"], 2 * values["up"])
            session.reset()
            expect(session, **values)
            expect(other, -values["down"], 2 * values["up"])

    def test_a_cache_goes_from_run_to_run(self):
        """As docs/features.md has it for decoders: each run fills in one position of a cache whose length --shape gives."""
        model = Model("decoder", opset=17)
        token, position, keys = model.input("token", INT64, [1]), model.input("position", INT64, [1]), model.input("keys", FLOAT, [1, "L", 4])
        zero, one = (model.initializer(name, INT64, [], [value]) for name, value in (("zero", 0), ("one", 1)))
        axis = model.initializer("axis", INT64, [1], [1])
        key = model.node("Gather", [model.initializer("table", FLOAT, [5, 4], [float(i) for i in range(20)]), token], ["key"], "embed")
        length = model.node("Gather", [model.node("Shape", [keys], ["dims"], "shape"), one], ["length"], "length")
        places = model.node("Range", [zero, length, one], ["places"], "places")
        here = model.node("Unsqueeze", [model.node("Equal", [places, position], ["is_here"], "equal"), axis], ["here"], "here")
        filled = model.node("Where", [here, key, keys], ["new_keys"], "fill")
        seen = model.node("Cast", [model.node("LessOrEqual", [places, position], ["is_seen"], "seen")], ["weights"], "cast", to=FLOAT)
        weighted = model.node("Mul", [filled, model.node("Unsqueeze", [seen, axis], ["column"], "column")], ["weighted"], "weigh")
        model.output(model.node("ReduceSum", [weighted, axis], ["sum"], "sum", keepdims=0), FLOAT, [1, 4])
        model.output(filled, FLOAT, [1, "L", 4])
        with tempfile.TemporaryDirectory() as folder:
            model.save(os.path.join(folder, "decoder.onnx"))
            session = gradc.compile(os.path.join(folder, "decoder.onnx"), shapes={"keys": (1, 6, 4)}, target="cpu").session()
        table, tokens, keys = np.arange(20.0).reshape(5, 4), np.array([2, 0, 4, 4, 1, 3]), np.full((1, 6, 4), 7, np.float32)
        for position in range(6):
            found = session.run("forward", {"token": tokens[position:position + 1], "position": np.array([position]), "keys": keys})
            np.testing.assert_array_equal(found["sum"][0], table[tokens[:position + 1]].sum(0))
            keys = found["new_keys"]
        np.testing.assert_array_equal(keys[0], table[tokens])

    def test_prompts_of_several_lengths_share_caches_that_grow(self):
        """As docs/features.md has it: prompts end where the batch does, masks hide what is before them, and caches keep their last positions."""
        tokens, past, size = [[2, 0, 4, 4, 1], [3, 1, 2], [4]], 9, 4
        random = np.random.default_rng(5)
        table, place = random.standard_normal((5, size), np.float32), random.standard_normal((past, size), np.float32)
        model = Model("decoder", opset=17)
        ids, mask, places = (model.input(name, INT64, [3, dim]) for name, dim in (("ids", "steps"), ("mask", "total"), ("places", "steps")))
        keys = model.input("past", FLOAT, [3, "past", size])
        zero, one = (model.initializer(name, INT64, [], [value]) for name, value in (("zero", 0), ("one", 1)))
        axes = model.initializer("axis", INT64, [1], [1])
        rows = [model.node("Gather", [model.initializer(name, FLOAT, values.shape, values.ravel().tolist()), indices], [f"{name}_rows"], name)
                for name, values, indices in (("table", table, ids), ("place", place, places))]
        x = model.node("Add", rows, ["x"], "embed")
        present = model.node("Concat", [keys, x], ["present"], "grow", axis=1)
        total, before = (model.node("Gather", [model.node("Shape", [of], [f"{name}_dims"], f"{name}_shape"), one], [name], name)
                         for of, name in ((mask, "total_length"), (keys, "past_length")))
        columns = model.node("Range", [zero, total, one], ["columns"], "columns")
        own = model.node("Unsqueeze", [model.node("Range", [before, total, one], ["own"], "own"), axes], ["own_column"], "own_column")
        known = model.node("Unsqueeze", [model.node("Cast", [mask], ["is_token"], "cast", to=BOOL), axes], ["known"], "known")
        seen = model.node("And", [known, model.node("LessOrEqual", [columns, own], ["earlier"], "earlier")], ["seen"], "seen")
        scores = model.node("MatMul", [x, model.node("Transpose", [present], ["turned"], "turn", perm=[0, 2, 1])], ["scores"], "score")
        hidden = model.node("Where", [seen, scores, model.initializer("low", FLOAT, [], [-1e30])], ["hidden"], "hide")
        shares = model.node("Softmax", [hidden], ["shares"], "share", axis=-1)
        model.output(model.node("MatMul", [shares, present], ["y"], "mix"), FLOAT, [3, "steps", size])
        model.output(present, FLOAT, [3, "total", size])

        def wanted(row):
            x = (table[row] + place[:len(row)]).astype(np.float64)
            shares = np.tril(np.exp(x @ x.T))
            return shares / shares.sum(1, keepdims=True) @ x

        steps = max(map(len, tokens))
        sessions = {count: gradc.compile(model.bytes(), target="cpu", shapes={"ids": (3, count), "mask": (3, past + count), "places": (3, count),
                                                                              "past": (3, past, size)}).session() for count in (steps, 1)}
        ids, mask, keys = np.zeros((3, steps), np.int64), np.zeros((3, past + steps), np.int64), np.zeros((3, past, size), np.float32)
        for row, prompt in enumerate(tokens):
            ids[row, -len(prompt):], mask[row, -len(prompt):] = prompt, 1
        for _ in range(5):
            count = ids.shape[1]
            places = np.maximum(mask.cumsum(1) - 1, 0)[:, -count:]
            found = sessions[count].run("forward", {"ids": ids, "mask": mask, "places": places, "past": keys})
            for row, given in enumerate(tokens):
                own = min(count, len(given))
                np.testing.assert_allclose(found["y"][row, -own:], wanted(given)[-own:], atol=1e-5)
            ids, keys = random.integers(0, 5, (3, 1)), found["present"][:, -past:]
            mask = np.concatenate([mask[:, -past:], np.ones((3, 1), np.int64)], 1)
            for given, new in zip(tokens, ids[:, 0]):
                given.append(int(new))


if __name__ == "__main__":
    unittest.main()
