"""The Python package on the compiled digits example: steps, runs, predictions, states, and errors.

    training.py [TEST ...]
"""
import copy
import gc
import json
import math
import os
import pickle
import signal
import tempfile
import threading
import time
import unittest
from unittest import mock

import numpy as np

import gradc

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
MODEL = os.path.join(ROOT, "examples/digits/mlp.onnx")
SPEC = """feed { input: "x"  field: "images" }  # data { stands here, too
loss { softmax_cross_entropy { logits: "logits"  labels: "labels" } }
metric { accuracy { logits: "logits"  labels: "labels" } }
optimizer { adam { learning_rate: 1e-3 } }
evaluation { data { stage { batch { size: 64 } } } }
data { stage { batch { size: 32 } } }
epochs: 2
"""


def load():
    with np.load(os.path.join(ROOT, "examples/digits/digits.npz")) as digits:
        images, labels = (digits["images"] / 16).astype(np.float32), digits["labels"]
    test = np.arange(len(images)) % 5 == 0
    return {"images": images[~test], "labels": labels[~test]}, {"images": images[test], "labels": labels[test]}


class Digits(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.data, cls.test = load()
        cls.model = gradc.compile(MODEL, SPEC, data=cls.data, evaluation=cls.test)

    def batch(self, rows=32):
        return {name: values[:rows] for name, values in self.data.items()}

    def losses(self, **options):
        found = []
        gradc.train(self.model, on_step=lambda report: found.append(report.loss), **options)
        return found

    def test_steps_are_those_of_a_run(self):
        with self.model.session() as session:
            steps = [session.step({name: values[i * 32:(i + 1) * 32] for name, values in self.data.items()}) for i in range(40)]
            self.assertEqual([step.loss for step in steps], self.losses(steps=40))
            self.assertEqual([step.number for step in steps], list(range(1, 41)))
            self.assertTrue(all(step.updated for step in steps))
            rest = {name: values[-5:] for name, values in self.data.items()}
            self.assertTrue(np.isfinite(session.step([rest["images"], rest["labels"]], learning_rate=0.01).loss))
            for wrong in (math.nan, math.inf, -0.1, 1e39):
                with self.assertRaisesRegex(gradc.Error, "expected a learning rate of 0 or more"):
                    session.step(rest, learning_rate=wrong)
            self.assertEqual(session.number, 41)

    def test_a_rate_of_0_is_the_optimizers(self):
        def second(rate):
            with self.model.session() as session:
                session.step(self.batch(), learning_rate=rate)
                return session.step(self.batch()).loss
        self.assertEqual(second(0), second(1e-3))
        self.assertNotEqual(second(0), second(1e-30))

    def test_a_run_returns_its_weights(self):
        trained = gradc.train(self.model, epochs=12)
        self.assertGreater(trained.metric, 0.94)
        scores = trained.session.predict(self.test["images"])
        self.assertEqual(scores.shape, (len(self.test["labels"]), 10))
        self.assertGreater((scores.argmax(1) == self.test["labels"]).mean(), 0.94)
        one = np.concatenate([trained.session.predict(self.test["images"][i:i + 1]) for i in range(3)])
        np.testing.assert_array_equal(one, scores[:3])

    def test_training_goes_on_from_a_saved_session(self):
        whole = gradc.train(self.model, epochs=3)
        trained = gradc.train(self.model, epochs=2)
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "a.ckpt")
            trained.session.save(path)
            rest = gradc.train(self.model, epochs=3, resume=path)
            self.assertEqual((rest.steps, rest.loss, rest.metric), (whole.steps, whole.loss, whole.metric))
            trained.session.step(self.batch())
            trained.session.save(path)
            self.assertEqual(gradc.train(self.model, epochs=3, resume=path).steps, whole.steps + 1)
            self.model.session().save(path)
            with self.assertRaisesRegex(gradc.Error, "cannot resume: the checkpoint has no position in training data"):
                gradc.train(self.model, resume=path)

    def test_what_is_no_array_is_refused(self):
        with self.model.session() as session:
            for call in (lambda: session.predict([[0.0] * 64]), lambda: session.predict({"x": 3}), lambda: session.step([[1.0], [2]])):
                with self.assertRaisesRegex(gradc.Error, "'images' is a (list|int), expected a numpy array"):
                    call()

    def test_given_arrays_take_the_place_of_the_first(self):
        half = {name: values[:700] for name, values in self.data.items()}
        self.assertEqual(len(self.losses(data=half, epochs=1)), 22)
        self.assertEqual(self.losses(data=half, steps=3), self.losses(steps=3))

    def test_states_go_out_and_in(self):
        with self.model.session() as session, self.model.session() as other, tempfile.TemporaryDirectory() as folder:
            for _ in range(3):
                session.step(self.batch())
            weights = session.state_dict()
            self.assertEqual(sorted(weights), ["fc1.bias", "fc1.weight", "fc2.bias", "fc2.weight", "fc3.bias", "fc3.weight"])
            before = other.state_dict()
            with self.assertRaises(gradc.Error):  # none is set where one does not fit
                other.load_state_dict(weights | {"fc3.weight": weights["fc1.weight"]})
            np.testing.assert_equal(other.state_dict(), before)
            other.load_state_dict(weights)
            x = self.test["images"][:7]
            np.testing.assert_array_equal(other.predict(x), session.predict({"x": x}))
            self.assertGreater(len(session.state_dict(all_states=True)), len(weights))
            session.save(os.path.join(folder, "a.ckpt"))
            other.load(os.path.join(folder, "a.ckpt"))
            self.assertEqual(other.step(self.batch())[:2], session.step(self.batch())[:2])
            session.export(os.path.join(folder, "a.onnx"))
            exported = gradc.compile(os.path.join(folder, "a.onnx"), shapes={"x": (7, 8, 8)})
            np.testing.assert_allclose(exported.session().predict(x), session.predict(x), rtol=1e-5, atol=1e-6)
            session.reset()
            self.assertEqual(session.number, 0)

    def test_arrays_are_read_where_they_lie(self):
        with self.model.session() as session, self.model.session() as other:
            strided = {name: values[:64:2] for name, values in self.data.items()}
            self.assertEqual(session.step(strided)[:2], other.step({name: values.copy() for name, values in strided.items()})[:2])

    def test_an_empty_array_is_aligned(self):
        for shape, expected in ((3, (3,)), (np.int64(3), (3,)), ([2, 3], (2, 3)), ((), ())):
            array = gradc.empty(shape, np.float32)
            self.assertEqual((array.shape, array.dtype, array.ctypes.data % 64), (expected, np.float32, 0))

    def test_a_field_may_have_any_name(self):
        data = self.data | {"file": self.data["labels"], "allow_pickle": self.data["labels"]}
        for name in ("file", "allow_pickle"):
            model = gradc.compile(MODEL, SPEC.replace('"labels"', f'"{name}"'), data=data, evaluation=data)
            self.assertEqual(gradc.train(model, steps=40).loss, gradc.train(self.model, steps=40).loss)

    def test_no_path_is_empty(self):
        steps = []
        for name in ("checkpoint", "resume", "log", "export", "data_folder"):
            with self.subTest(name), self.assertRaisesRegex(gradc.Error, "expected a path, found ''"):
                gradc.train(self.model, steps=1, on_step=steps.append, **{name: ""})
        self.assertFalse(steps)

    def test_an_artifact_that_is_kept_has_its_arrays_beside_it(self):
        with tempfile.TemporaryDirectory() as folder:
            output = os.path.join(folder, "digits.so")
            gradc.compile(MODEL, SPEC, data=self.data, evaluation=self.test, output=output)
            self.assertEqual(sorted(os.listdir(folder)), ["digits.so", "digits.so.data.npz", "digits.so.evaluation.npz"])
            gc.collect()
            trained = gradc.train(gradc.Model(output), epochs=1)
            self.assertTrue(0 < trained.evaluation_loss < 3)

    def test_a_run_returns_the_metrics_of_each_set(self):
        with tempfile.TemporaryDirectory() as folder:
            file, log = os.path.join(folder, "some.npz"), os.path.join(folder, "log.jsonl")
            np.savez(file, **{name: values[:100] for name, values in self.test.items()})
            some = f'evaluation {{ set {{ name: "some"  data {{ source {{ npz {{ path: "{file}" }} }} stage {{ batch {{ size: 60 }} }} }} }} '
            spec = SPEC.replace("evaluation {", some, 1)
            trained = gradc.train(gradc.compile(MODEL, spec, data=self.data, evaluation=self.test), epochs=1, log=log)
            with open(log) as lines:
                evaluated = [json.loads(line) for line in lines if '"event":"eval"' in line][-1]
        self.assertEqual(list(trained.metrics), ["loss", "accuracy", "some/loss", "some/accuracy"])
        self.assertEqual(trained.metrics, {name: evaluated[name] for name in trained.metrics})
        self.assertEqual((trained.evaluation_loss, trained.metric), (trained.metrics["loss"], trained.metrics["accuracy"]))
        self.assertNotEqual(trained.metrics["some/loss"], trained.evaluation_loss)

    def test_sets_of_an_evaluation_may_be_arrays_or_files(self):
        some, few = ({name: values[:rows] for name, values in self.test.items()} for rows in (100, 40))
        spec = SPEC.replace("evaluation {", 'evaluation { set { name: "few"  data { stage { batch { size: 20 } } } }  # } few\n', 1)
        with tempfile.TemporaryDirectory() as folder:
            file, output = os.path.join(folder, "some.npz"), os.path.join(folder, "digits.so")
            np.savez(file, **some)
            model = gradc.compile(MODEL, spec, data=self.data, evaluation=self.test, output=output,
                                  evaluation_sets={"few": few, "some": file, "same-rows": some, "all": self.test})
            self.assertEqual(sorted(os.listdir(folder)), ["digits.so", "digits.so.data.npz", "digits.so.evaluation.all.npz",
                                                          "digits.so.evaluation.few.npz", "digits.so.evaluation.npz",
                                                          "digits.so.evaluation.same-rows.npz", "some.npz"])
            trained = gradc.train(model, epochs=1)
            # Instead of `evaluation`: that of the spec has a file.
            named = SPEC.replace("evaluation { data {", f"evaluation {{ data {{ source {{ npz {{ path: '{file}' }} }} # {{\n", 1)
            own = gradc.train(gradc.compile(MODEL, named, data=self.data, evaluation_sets={"all": self.test}), epochs=1)
        metrics = trained.metrics
        self.assertEqual(list(metrics), [f"{of}{metric}" for of in ("", "few/", "some/", "same-rows/", "all/") for metric in ("loss", "accuracy")])
        self.assertEqual((metrics["all/loss"], metrics["all/accuracy"]), (metrics["loss"], metrics["accuracy"]))
        self.assertEqual((metrics["some/loss"], metrics["some/accuracy"]), (metrics["same-rows/loss"], metrics["same-rows/accuracy"]))
        scores = trained.session.predict(few["images"])
        self.assertAlmostEqual(metrics["few/accuracy"], float((scores.argmax(1) == few["labels"]).mean()), places=6)
        self.assertEqual(own.metrics, {"loss": metrics["some/loss"], "accuracy": metrics["some/accuracy"], "all/loss": metrics["loss"],
                                       "all/accuracy": metrics["accuracy"]})

    def test_sets_may_be_a_list_and_fields_may_have_separators(self):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "test.npz")
            np.savez(file, **self.test)
            elements = ", ".join(f'{{ name: "{name}", data {{ stage {{ batch {{ size: 20 }} }} }} }}' for name in ("few", "some"))
            data = f"source {{ npz {{ path: '{file}' }} }}, stage {{ batch {{ size: 64 }} }}"
            spec = SPEC.replace("evaluation { data { stage { batch { size: 64 } } } }", f"evaluation {{ set: [{elements}]; data {{ {data} }} }}")
            sets = {"few": {name: values[:40] for name, values in self.test.items()}, "some": self.test, "all": self.test}
            metrics = gradc.train(gradc.compile(MODEL, spec, data=self.data, evaluation_sets=sets), epochs=1).metrics
        self.assertEqual(list(metrics), [f"{of}{metric}" for of in ("", "few/", "some/", "all/") for metric in ("loss", "accuracy")])
        self.assertEqual(metrics["all/loss"], metrics["loss"])
        self.assertAlmostEqual(metrics["some/loss"], metrics["loss"], places=6)  # other batches

    def test_sets_that_cannot_be_used_are_refused(self):
        compiled = lambda sets, spec=SPEC: gradc.compile(MODEL, spec, data=self.data, evaluation=self.test, evaluation_sets=sets)
        wrong = [([self.test], "evaluation_sets is a list, expected a dict of arrays or files by name"),
                 ({"a/b": self.test}, "a set of the evaluation is called 'a/b', expected letters, digits, - and _"),
                 ({"some": self.test["images"]}, "set 'some' of the evaluation is a ndarray, expected a dict of arrays by field, or an .npz file"),
                 ({"some": "some.csv"}, "set 'some' of the evaluation is 'some.csv', expected a dict of arrays by field, or an .npz file"),
                 ({"some": {}}, "set 'some' of the evaluation is a dict, expected a dict of arrays by field"),
                 ({"some": {"images": self.test["images"]}}, 'no field "labels"')]
        for sets, message in wrong:
            with self.subTest(message), self.assertRaisesRegex(gradc.Error, message):
                compiled(sets)
        without = SPEC.replace("evaluation", "#")
        with self.assertRaisesRegex(gradc.Error, "no evaluation {} block that the set 'some' could belong to"):
            gradc.compile(MODEL, without, data=self.data, evaluation_sets={"some": self.test})
        with self.assertRaisesRegex(gradc.Error, "data belongs to a spec"):
            gradc.compile(MODEL, evaluation_sets={"some": self.test})

    def test_paths_may_have_any_bytes_but_zero(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ('a"b', "it's", "back\\slash", "two\nlines", "\u00fc", "\udcff"):
                output = os.path.join(folder, name)
                model = gradc.compile(MODEL, SPEC, data=self.data, evaluation=self.test, output=output)
                self.assertEqual(gradc.train(model, steps=1, log=output + ".jsonl", checkpoint=output + "-run").steps, 1)
                self.assertTrue(os.path.exists(output + ".jsonl"))
                with self.assertRaisesRegex(gradc.Error, "cannot write log"):
                    gradc.train(model, steps=1, log=output + "-run")
            for call in (lambda: gradc.Model("a\0b"), lambda: self.model.session().save("a\0b"), lambda: gradc.train(self.model, log="a\0b")):
                with self.assertRaisesRegex(gradc.Error, "without zero bytes"):
                    call()

    def test_other_threads_run_during_a_run(self):
        ticks, done = [], threading.Event()

        def tick():
            while not done.is_set():
                ticks.append(1)
                time.sleep(0.001)
        thread = threading.Thread(target=tick)
        thread.start()
        gradc.train(self.model, epochs=60)
        done.set()
        thread.join()
        self.assertGreater(len(ticks), 5)

    def test_a_callback_ends_a_run(self):
        self.assertEqual(gradc.train(self.model, on_step=lambda report: report.step < 5).steps, 5)

        def fail(report):
            raise KeyError("mine")
        with self.assertRaisesRegex(KeyError, "mine"):
            gradc.train(self.model, on_step=fail)

    def test_an_interrupt_leaves_a_checkpoint(self):
        signal.signal(signal.SIGINT, signal.default_int_handler)  # a program in the background begins with it ignored
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            with self.assertRaises(KeyboardInterrupt):
                gradc.train(self.model, epochs=1000, checkpoint=run,
                            on_step=lambda report: os.kill(os.getpid(), signal.SIGINT) if report.step == 20 else None)
            kept = [name for name in os.listdir(run) if name.startswith("step-")]
            self.assertTrue(kept)
            again = gradc.train(self.model, epochs=1, checkpoint=run, resume="latest")
            self.assertEqual(again.steps, 45)

    def test_messages_name_arguments(self):
        with tempfile.TemporaryDirectory() as folder:
            run = os.path.join(folder, "run")
            gradc.train(self.model, steps=3, checkpoint=run)
            with self.assertRaisesRegex(gradc.Error, "go on from it with resume=, or name another folder with checkpoint= or"):
                gradc.train(self.model, steps=3, checkpoint=run)
            with self.assertRaisesRegex(gradc.CompileError, r"or with shapes=\{'x': \[1, 8, 8\]\}"):
                gradc.compile(MODEL)

    def test_an_interrupt_during_a_step_is_raised(self):
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for delay in (0.02, 0.05, 0.08):
            signal.signal(signal.SIGALRM, lambda *_: os.kill(os.getpid(), signal.SIGINT))
            signal.setitimer(signal.ITIMER_REAL, delay)
            with self.assertRaises(KeyboardInterrupt):
                gradc.train(self.model, epochs=5000)

    def test_a_session_belongs_to_its_process(self):
        session = self.model.session()
        child = os.fork()
        if child == 0:
            try:
                session.step(self.batch())
            except gradc.Error as error:
                os._exit(7 if "before a fork" in str(error) else 1)
            os._exit(2)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 7)

    def test_a_model_without_steps_takes_the_weights_of_a_checkpoint(self):
        with tempfile.TemporaryDirectory() as folder:
            trained = gradc.train(self.model, steps=50, checkpoint=folder)
            expected, scores = trained.session.state_dict(), trained.session.predict(self.data["images"][:20])
            session = gradc.compile(MODEL, shapes={"x": (16, 8, 8)}).session()
            session.load(os.path.join(folder, "best.ckpt"))
            for name, values in session.state_dict().items():
                np.testing.assert_array_equal(values, expected[name])
            np.testing.assert_allclose(session.predict(self.data["images"][:20]), scores, rtol=1e-4, atol=1e-5)
            with self.assertRaisesRegex(gradc.Error, "is of another optimizer: it was trained with 'adam', this artifact trains with 'sgd'"):
                gradc.compile(MODEL, SPEC.replace("adam", "sgd"), data=self.data, evaluation=self.test).session().load(
                    os.path.join(folder, "best.ckpt"))

    def test_a_model_without_steps_takes_averages_of_weights(self):
        averaged = gradc.compile(MODEL, SPEC + "ema { decay: 0.9 }\n", data=self.data, evaluation=self.test)
        with tempfile.TemporaryDirectory() as folder:
            trained = gradc.train(averaged, steps=50, checkpoint=folder)
            scores = trained.session.predict(self.data["images"][:20])
            session = gradc.compile(MODEL, shapes={"x": (16, 8, 8)}).session()
            session.load(os.path.join(folder, "best.ckpt"))
            np.testing.assert_allclose(session.predict(self.data["images"][:20]), scores, rtol=1e-4, atol=1e-5)

    def test_copies_and_pickles_are_refused(self):
        session, images = self.model.session(), self.data["images"][:4]
        scores = session.predict(images)
        for call in (copy.copy, copy.deepcopy, pickle.dumps):
            with self.assertRaisesRegex(TypeError, r"a session cannot be copied or pickled, expected another one: model.session\(\)"):
                call(session)
            with self.assertRaisesRegex(TypeError, "a model cannot be copied or pickled, expected its file to be opened: gradc.compile"):
                call(self.model)
        with self.assertRaisesRegex(TypeError, "a session cannot be copied or pickled"):
            pickle.dumps(session.predict)  # as multiprocessing sends it
        gc.collect()
        np.testing.assert_array_equal(session.predict(images), scores)

    def test_steps_take_inputs_that_the_graph_does_not_read(self):
        losses = []
        with mock.patch.object(self.model, "inputs", {"images", "attention_mask"}):
            for more in {}, {"attention_mask": np.ones((32, 8), np.int64)}:
                losses.append(self.model.session().step(self.batch() | more).loss)
        self.assertEqual(*losses)

    def test_what_is_wrong_is_said(self):
        session, data = self.model.session(), self.batch()
        wrong = [
            (lambda: session.step({"images": data["images"]}), "'train' takes \\['images', 'labels'\\], found \\['images'\\]"),
            (lambda: session.step([data["images"]]), "takes 2 arrays, found 1"),
            (lambda: session.step(data | {"weight": data["labels"]}), "'train' takes \\['images', 'labels'\\], found \\['weight'\\] as well"),
            (lambda: session.predict([[0.5] * 64] * 3), "'forward' takes 1 array, found a list of list: make it an array with numpy.array"),
            (lambda: session.step(data | {"images": data["images"].astype(np.float64)}),
             "'images' has type float64 and shape \\[32, 8, 8\\], expected float32 \\[rows, 8, 8\\]"),
            (lambda: session.step(data | {"labels": data["labels"][:3]}), "'labels' has 3 rows, the fields before it 32"),
            (lambda: session.step(self.batch(33)), "33"),
            (lambda: session.step(self.batch(0)), "1 row or more"),
            (lambda: session.step(data | {"labels": data["labels"] + 10}), "expected"),
            (lambda: session.step(data, kind="critic"), "no entry 'train.critic', expected one of \\['evaluate', 'forward', 'train'\\]"),
            (lambda: session.predict(np.float32(3)), "'images' has type float32 and shape \\[\\]"),
            (lambda: session.run("train", data), "call step"),
            (lambda: session.predict(data["images"][:, 0]), "shape \\[32, 8\\]"),
            (lambda: session.load("/none"), "cannot read '/none'"),
            (lambda: session.load_state_dict({"fc9": data["labels"]}), "no states \\['fc9'\\]"),
            (lambda: session.load_state_dict({"fc1.bias": data["labels"]}), "'fc1.bias' is int64 \\[32\\], expected float32 \\[128\\]"),
            (lambda: self.model.session(level="sm_1"), "sm_1"),
            (lambda: gradc.Model("/none"), "/none"),
            (lambda: gradc.train(self.model, data={"images": data["images"]}), "labels"),
            (lambda: gradc.compile(), "a model, a spec, or both"),
            (lambda: gradc.compile(3), "the model is a int, expected a file, bytes or an onnx.ModelProto"),
            (lambda: gradc.compile(""), "expected a path, found ''"),
            (lambda: gradc.compile(MODEL, SPEC, data=[data["images"]]), "data is a list, expected a dict of arrays by field"),
            (lambda: gradc.compile(MODEL, shapes={"x": (4, 8, 8)}, output=""), "expected a path, found ''"),
            (lambda: gradc.train(self.model, data=[data["images"]]), "data is a list, expected a dict of arrays by field"),
            (lambda: gradc.train(self.model, seed=-1), "seed is -1, expected 0 to 18446744073709551615"),
            (lambda: session.seed(1 << 64), "seed is 18446744073709551616, expected 0 to"),
            (lambda: session.predict(None), "'forward' takes \\['images'\\], found a NoneType"),
            (lambda: session.step(3), "'train' takes \\['images', 'labels'\\], found a int"),
            (lambda: session.step(data, rates={3: 0.1}), "expected a string, found 3"),
            (lambda: self.model.session(level=3), "expected a string, found 3"),
            (lambda: gradc.compile(MODEL, SPEC.replace("evaluation", "#"), data=self.data, evaluation=self.test), "no evaluation"),
            (lambda: gradc.compile(MODEL, 'model: "b.onnx"\n' + SPEC), "another one was given")]
        for call, message in wrong:
            with self.subTest(message), self.assertRaisesRegex(gradc.Error, message):
                call()
        session.close()
        with self.assertRaisesRegex(gradc.Error, "closed"):
            session.step(data)
        with self.assertRaisesRegex(gradc.CompileError, 'unknown field "optimiser"') as caught:
            gradc.compile(MODEL, SPEC.replace("optimizer", "optimiser"), data=self.data, evaluation=self.test)
        self.assertEqual(caught.exception.status, 3)
        self.assertIn("textproto:4:", str(caught.exception))

    def test_a_schedule_is_asked(self):
        self.assertAlmostEqual(self.model.learning_rate(steps=10), 1e-3)
        for name in ("steps", "epochs", "run_steps", "run_epochs"):
            with self.subTest(name), self.assertRaisesRegex(gradc.Error, f"{name} is -5, expected 0 or more"):
                self.model.learning_rate(**{"steps": 10} | {name: -5})


if __name__ == "__main__":
    unittest.main()
