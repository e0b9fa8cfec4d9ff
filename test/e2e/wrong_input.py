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
from onnx_writer import FLOAT, Model, message

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
