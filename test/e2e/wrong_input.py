"""Gives gradc everything a person can get wrong, and checks each answer: exit code and what the message must say.

    wrong_input.py ROOT [NAME...]
"""
import array
import os
import resource
import subprocess
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars"), os.path.join(ROOT, "test")]
from bar import compile_spec, program, scratch, write_mlp_job, write_npy
from onnx_writer import DOUBLE, FLOAT, INT64, Model, message

OK, ERROR, USAGE, INVALID = 0, 1, 2, 3
CASES = []


def case(code, *phrases):
    """Registers a function that breaks a job in a folder and returns the command that must notice."""
    return lambda function: CASES.append((function, code, phrases)) or function


class Job:
    """A good job: mlp.onnx, mlp.textproto, x.npy [24, 6], labels.npy, three classes, batches of four."""

    def __init__(self, widths=(6, 8, 3)):
        self.folder = scratch()
        self.spec = write_mlp_job(self.folder, widths, 4, 6)

    def path(self, name):
        return os.path.join(self.folder, name)

    def edit(self, old, new):
        with open(self.spec) as file:
            text = file.read()
        assert old in text, old
        with open(self.spec, "w") as file:
            file.write(text.replace(old, new))

    def model(self):
        with open(self.path("mlp.onnx"), "rb") as file:
            return file.read()

    def write(self, name, data):
        with open(self.path(name), "wb") as file:
            file.write(data)

    def check(self):
        return [program("gradc"), "check", self.spec]

    def train(self, *options):
        """Compiles the job as it is now; the command that trains it."""
        return [compile_spec(self.spec, self.folder), "--data-dir", self.folder, "--quiet", *options]

    def checkpoint(self, folder="run", steps=3):
        subprocess.run(self.train("--steps", str(steps), "--checkpoint", self.path(folder)), check=True, cwd=self.folder)
        return max(os.path.join(self.path(folder), name) for name in os.listdir(self.path(folder)))


# The model --------------------------------------------------------------------------------------------------------


@case(INVALID, "mlp.onnx", "No such file")
def missing_model(job):
    os.remove(job.path("mlp.onnx"))
    return job.check()


@case(INVALID, "mlp.onnx", "truncated")
def truncated_model(job):
    job.write("mlp.onnx", job.model()[:300])
    return job.check()


@case(INVALID, "expected an ONNX model")
def another_protobuf(job):
    job.write("mlp.onnx", message((1, 7), (2, "not a model")))
    return job.check()


@case(INVALID, "expected an ONNX model")
def no_protobuf(job):
    job.write("mlp.onnx", b"\x89PNG\r\n\x1a\n" + bytes(100))
    return job.check()


@case(INVALID, "Det", "detector", "NonZero", "finder")
def unsupported_ops_all_listed(job):
    model = Model()
    x = model.input("x", FLOAT, ["N", 6])
    model.node("Det", [x], ["a"], "detector")
    model.node("NonZero", [x], ["b"], "finder")
    model.output(model.node("Add", ["a", "b"], ["logits"], "add"), FLOAT, ["N", 6])
    model.save(job.path("mlp.onnx"))
    return job.check()


@case(INVALID, '"width"', '"x"', "--shape")
def unbound_symbolic_dim(job):
    model = Model()
    model.output(model.node("Relu", [model.input("x", FLOAT, ["N", "width"])], ["y"], "relu"), FLOAT, ["N", "width"])
    model.save(job.path("mlp.onnx"))
    return [program("gradc"), "check", job.path("mlp.onnx")]


@case(INVALID, "fc", '"x"', '"weight"', "6", "7")
def shapes_that_do_not_fit(job):
    model = Model()
    x = model.input("x", FLOAT, ["N", 6])
    weight = model.initializer("weight", FLOAT, [7, 3], [0.5] * 21)
    model.output(model.node("MatMul", [x, weight], ["logits"], "fc"), FLOAT, ["N", 3])
    model.save(job.path("mlp.onnx"))
    return job.check()


def with_external(job, location, offset=None, length=None):
    """A model whose weight lies in another file."""
    model = Model()
    x = model.input("x", FLOAT, ["N", 6])
    weight = model.initializer("weight", FLOAT, [6, 3], external=(location, offset, length))
    model.output(model.node("MatMul", [x, weight], ["logits"], "fc"), FLOAT, ["N", 3])
    model.save(job.path("mlp.onnx"))
    return job.check()


@case(OK)
def external_data_that_is_right(job):
    job.write("weights.bin", bytes(100))
    return with_external(job, "weights.bin", 4, 72)


@case(INVALID, "weights.bin", "No such file")
def external_data_absent(job):
    return with_external(job, "weights.bin")


@case(INVALID, "weights.bin", "too short", "72")
def external_data_too_short(job):
    job.write("weights.bin", bytes(40))
    return with_external(job, "weights.bin", 0, 72)


@case(INVALID, "outside the model's folder")
def external_data_above(job):
    return with_external(job, "../weights.bin")


@case(INVALID, "outside the model's folder")
def external_data_absolute(job):
    return with_external(job, "/etc/hostname")


@case(INVALID, "outside the model's folder")
def external_data_behind_a_link(job):
    os.symlink("/etc/hostname", job.path("weights.bin"))
    return with_external(job, "weights.bin")


# The spec ---------------------------------------------------------------------------------------------------------


@case(INVALID, "mlp.textproto:5:", "shufle")
def unknown_spec_field(job):
    job.edit("data {\n", "data {\n  shufle {}\n")
    return job.check()


@case(INVALID, "fc1.wieght", "fc1.weight")
def wrong_parameter_name(job):
    job.edit("model:", 'freeze: "fc1.wieght"\nmodel:')
    return job.check()


@case(INVALID, "mlp.textproto")
def missing_spec(job):
    os.remove(job.spec)
    return job.check()


# The data ---------------------------------------------------------------------------------------------------------


@case(INVALID, "labels", "integers")
def labels_of_the_wrong_type_when_compiled(job):
    write_npy(job.path("labels.npy"), array.array("f", [0.0] * 24), (24,))
    return job.check()


@case(INVALID, "x", "[4, 6]", "5")
def data_of_the_wrong_shape_when_compiled(job):
    write_npy(job.path("x.npy"), array.array("f", [0.0] * 120), (24, 5))
    return job.check()


@case(ERROR, "labels", "f32", "i64")
def data_of_the_wrong_type_when_trained(job):
    command = job.train()
    write_npy(job.path("labels.npy"), array.array("f", [0.0] * 24), (24,))
    return command


@case(ERROR, "x", "[5]", "[6]")
def data_of_the_wrong_shape_when_trained(job):
    command = job.train()
    write_npy(job.path("x.npy"), array.array("f", [0.0] * 120), (24, 5))
    return command


@case(ERROR, "x.npy")
def data_missing_when_trained(job):
    command = job.train()
    os.remove(job.path("x.npy"))
    return command


@case(ERROR, "empty")
def empty_data_set(job):
    command = job.train()
    write_npy(job.path("x.npy"), array.array("f"), (0, 6))
    write_npy(job.path("labels.npy"), array.array("q"), (0,))
    return command


@case(ERROR, "label 3 in row 13", "labels", "expected 0 to 2")
def label_out_of_range(job):
    command = job.train()
    write_npy(job.path("labels.npy"), array.array("q", [0] * 13 + [3] + [1] * 10), (24,))
    return command


@case(ERROR, "step 2", "nan", "x")
def nan_in_the_data(job):
    command = job.train()
    write_npy(job.path("x.npy"), array.array("f", [0.5] * 30 + [float("nan")] + [0.5] * 113), (24, 6))
    return command


@case(ERROR, "fc1", "inf", "step 1")
def overflow_in_a_node(job):
    job.edit("batch {", 'map { field: "x"  scale: 0  offset: 3.4e38 }\n  batch {')
    return job.train()


# Maps by models ---------------------------------------------------------------------------------------------------


def with_map(job, block='output { name: "y"  field: "x" }', behind=False, dims=(6,), dtype=FLOAT, op="Relu", file="map.onnx"):
    """A map stage by a model of one op over x, which an input of the model's is called, too."""
    model = Model()
    model.output(model.node(op, [model.input("x", dtype, list(dims))], ["y"], "only"), dtype, list(dims))
    model.save(job.path("map.onnx"))
    stage = f'map {{ model {{ file: "{file}"  {block} }} }}'
    job.edit("batch { size: 4  drop_remainder: true }",
             f"batch {{ size: 4 }} {stage}" if behind else f"{stage} batch {{ size: 4 }}")
    return job.check()


@case(OK)
def map_model_that_is_right(job):
    return with_map(job)


@case(INVALID, "none.onnx", "No such file")
def map_model_missing(job):
    return with_map(job, file="none.onnx")


@case(INVALID, "mlp.textproto:6", "missing file")
def map_model_without_a_file(job):
    return with_map(job, file="")


@case(INVALID, "map.onnx", "only", "Det", "is not supported")
def map_model_with_an_unsupported_op(job):
    return with_map(job, op="Det")


@case(INVALID, 'no field "image"', "it has labels, x")
def map_model_fed_from_no_field(job):
    return with_map(job, 'input { field: "image"  to: "x" }')


@case(INVALID, "missing field")
def map_model_input_without_a_field(job):
    return with_map(job, 'input { to: "x" }')


@case(INVALID, "missing name")
def map_model_output_without_a_name(job):
    return with_map(job, 'output { field: "x" }')


@case(INVALID, 'graph input "z" is not in the model')
def map_model_without_that_input(job):
    return with_map(job, 'input { field: "x"  to: "z" }')


@case(INVALID, 'graph input "x" is fed twice')
def map_model_input_fed_twice(job):
    return with_map(job, 'input { field: "x" } input { field: "labels"  to: "x" }')


@case(INVALID, 'output "z" is not in the model')
def map_model_without_that_output(job):
    return with_map(job, 'output { name: "z" }')


@case(INVALID, 'field "x" is made of two outputs')
def map_model_with_a_field_made_twice(job):
    return with_map(job, 'output { name: "y"  field: "x" } output { name: "y"  field: "x" }')


@case(INVALID, 'expected field "x"', "to be f32 [7] for graph input", "found rows of f32 [6]")
def map_model_of_another_shape(job):
    return with_map(job, dims=(7,))


@case(INVALID, "to be f32 [4, 6]", "found rows of f32 [6]")
def map_model_of_batches_before_batch(job):
    return with_map(job, dims=(4, 6))


@case(INVALID, "to be f32 [6]", "found batches of f32 [4, 6]")
def map_model_of_rows_behind_batch(job):
    return with_map(job, behind=True)


@case(INVALID, "to be f64 [6]", "found rows of f32 [6]", 'map { field: "x" cast: F64 }')
def map_model_of_another_type(job):
    return with_map(job, dtype=DOUBLE)


@case(INVALID, "to be f32 [4, 6]", "found batches of f32 [3, 6]", "last batch, which has 3 of 4 rows")
def map_model_that_cannot_take_the_last_batch(job):
    for name, values, shape in (("x.npy", array.array("f", [0.5] * 138), (23, 6)),
                                ("labels.npy", array.array("q", [1] * 23), (23,))):
        write_npy(job.path(name), values, shape)
    return with_map(job, behind=True, dims=(4, 6))


@case(INVALID, 'expected output "y" to have a first dim of 4', "f32 [6]")
def map_model_that_drops_the_batch(job):
    model = Model()
    value = model.node("ReduceMean", [model.input("x", FLOAT, ["N", 6])], ["y"], "mean", axes=[0], keepdims=0)
    model.output(value, FLOAT, [6])
    model.save(job.path("mean.onnx"))
    job.edit("true }", 'true } map { model { file: "mean.onnx" } }')
    return job.check()


@case(INVALID, "expected a model with inputs")
def map_model_without_inputs(job):
    model = Model()
    model.output(model.node("RandomUniform", [], ["x"], "noise", shape=[6]), FLOAT, [6])
    model.save(job.path("noise.onnx"))
    job.edit("batch {", 'map { model { file: "noise.onnx" } } batch {')
    return job.check()


@case(INVALID, "expected a model to name its fields in input and output")
def map_model_with_a_field_beside_it(job):
    with_map(job)
    job.edit("map {", 'map { field: "x" ')
    return job.check()


@case(INVALID, "entry is no field for specs")
def map_model_with_an_entry(job):
    return with_map(job, 'entry: "map.0"')


@case(INVALID, "map stands behind batch", "only a map by a model takes batches")
def another_map_behind_batch(job):
    job.edit("true }", 'true } map { field: "x"  scale: 2 }')
    return job.check()


@case(INVALID, "dim 1 of graph input", "is known with the data")
def map_model_of_open_size_without_data(job):
    os.remove(job.path("x.npy"))
    return with_map(job, dims=("N", "width"))


@case(INVALID, "runs on CPUs", "--target=cpu,cuda:sm_90")
def map_model_for_a_gpu_alone(job):
    with_map(job)
    return [program("gradc"), "plan", job.spec, "--target=cuda:sm_90"]


@case(ERROR, "x.npy", "rows of f32 [5]", "model 'map.onnx' expects f32 [6]")
def rows_that_do_not_fit_a_map_model_when_trained(job):
    with_map(job)
    command = job.train()
    write_npy(job.path("x.npy"), array.array("f", [0.0] * 120), (24, 5))
    return command


@case(ERROR, "rows of f32 [5]", "model 'map.onnx' expects f32 [6]")
def batches_that_do_not_fit_a_map_model_when_trained(job):
    with_map(job, behind=True, dims=("N", 6))
    command = job.train()
    write_npy(job.path("x.npy"), array.array("f", [0.0] * 120), (24, 5))
    return command


@case(ERROR, "compiled for last batches of 3 rows for model 'map.onnx'", "the data gives 2")
def last_batch_that_no_map_model_takes(job):
    write_npy(job.path("x.npy"), array.array("f", [0.5] * 23 * 6), (23, 6))
    write_npy(job.path("labels.npy"), array.array("q", [1] * 23), (23,))
    with_map(job, behind=True, dims=("N", 6))
    command = job.train()
    write_npy(job.path("x.npy"), array.array("f", [0.5] * 22 * 6), (22, 6))
    write_npy(job.path("labels.npy"), array.array("q", [1] * 22), (22,))
    return command


@case(ERROR, "label 9 in row 2", "'y'", "expected 0 to 2")
def label_out_of_range_from_a_map_model(job):
    model = Model()
    one = model.initializer("one", INT64, [], [1])
    model.output(model.node("Mul", [model.input("labels", INT64, ["N"]), one], ["y"], "same"), INT64, ["N"])
    model.save(job.path("labels.onnx"))
    job.edit("true }", 'true } map { model { file: "labels.onnx" } }')
    job.edit('labels: "labels"', 'labels: "y"')
    command = job.train()
    write_npy(job.path("labels.npy"), array.array("q", [0, 1, 9] + [1] * 21), (24,))
    return command


# Checkpoints ------------------------------------------------------------------------------------------------------


@case(ERROR, "checkpoint", "truncated")
def truncated_checkpoint(job):
    newest = job.checkpoint()
    os.truncate(newest, os.path.getsize(newest) - 10)
    return job.train("--resume", newest)


@case(ERROR, "checkpoint", "another model")
def checkpoint_of_another_model(job):
    other = Job()
    write_mlp_job(other.folder, (6, 9, 3), 4, 6)
    return job.train("--resume", other.checkpoint())


@case(ERROR, "no checkpoint in")
def resume_from_nothing(job):
    return job.train("--checkpoint", job.path("empty"), "--resume")


def test_full_disk():
    """A disk that fills while a checkpoint is written: exit 1 with the reason, and the previous checkpoint stays good."""
    job = Job((6, 512, 512, 3))  # a checkpoint bigger than the machine code, which the limit must let through
    before = job.checkpoint()
    with open(before, "rb") as file:
        content = file.read()
    limit = len(content) // 2
    result = subprocess.run(job.train("--checkpoint", job.path("run"), "--resume"), cwd=job.folder, text=True,
                            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit)))
    with open(before, "rb") as file:
        whole = file.read() == content
    again = subprocess.run(job.train("--checkpoint", job.path("run"), "--resume"), cwd=job.folder)
    if result.returncode == ERROR and "cannot write" in result.stdout and whole and again.returncode == OK:
        return None
    return f"full disk: exit code {result.returncode}, previous checkpoint whole: {whole}\n{result.stdout}"


# The command line -------------------------------------------------------------------------------------------------


@case(USAGE, "--treads", "--threads")
def unknown_option(job):
    return job.train("--treads", "2")


@case(USAGE, "--steps", "three")
def option_of_the_wrong_kind(job):
    return job.train("--steps", "three")


@case(USAGE)
def unknown_command(job):
    return [program("gradc"), "trian", job.spec]


def run_case(function, code, phrases):
    """None, or what was wrong with the answer."""
    job = Job()
    command = function(job)
    result = subprocess.run(command, cwd=job.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    missing = [phrase for phrase in phrases if phrase not in result.stdout]
    if result.returncode == code and not missing:
        return None
    return (f"{function.__name__}: expected exit code {code} and {', '.join(map(repr, phrases))}; "
            f"found {result.returncode}, without {missing}:\n{result.stdout}")


def main():
    wanted = sys.argv[2:]
    answers = {function.__name__: lambda f=function, c=code, p=phrases: run_case(f, c, p)
               for function, code, phrases in CASES}
    answers["full_disk"] = test_full_disk
    failures = 0
    for name, answer in answers.items():
        if not wanted or name in wanted:
            wrong = answer()
            if wrong:
                failures += 1
                print(wrong)
    count = len(wanted or answers)
    print(f"wrong-input: {count - failures} of {count} answered as they should")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
