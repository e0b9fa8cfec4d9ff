"""A case of wrong input: a valid job that a function breaks, and the required answer."""
import os
import subprocess

from bar import compile_spec, program, scratch, write_mlp_job

OK, ERROR, USAGE, INVALID, DOES_NOT_FIT = 0, 1, 2, 3, 5
ANSWERS = {}  # by name: a function that returns None, or the fault of the answer


def register(name, answer):
    assert name not in ANSWERS, f"two cases are called {name}"
    ANSWERS[name] = answer


def case(code, *phrases):
    """Registers a function that breaks a job in a folder and returns the command that must detect it, with this exit code and these phrases
    in its message."""
    return lambda function: register(function.__name__, lambda: run_case(function, code, phrases)) or function


def answer(function):
    """Registers a function that returns None, or the problem of the answer."""
    register(function.__name__, function)
    return function


def run_case(function, code, phrases):
    """Returns None, or the problem of the answer."""
    job = Job()
    command = function(job)
    result = subprocess.run(command, cwd=job.folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    missing = [phrase for phrase in phrases if phrase not in result.stdout]
    if result.returncode == code and not missing:
        return None
    return (f"{function.__name__}: expected exit code {code} and {', '.join(map(repr, phrases))}; "
            f"found {result.returncode}, without {missing}:\n{result.stdout}")


class Job:
    """A valid job: mlp.onnx, mlp.textproto, x.npy [24, 6], labels.npy, three classes, batches of four."""

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
        """Compiles the job as it is now; returns the command that trains it."""
        return [compile_spec(self.spec, self.folder), "--data-dir", self.folder, "--quiet", *options]

    def checkpoint(self, folder="run", steps=3):
        subprocess.run(self.train("--steps", str(steps), "--checkpoint", self.path(folder)), check=True, cwd=self.folder)
        return max(os.path.join(self.path(folder), name) for name in os.listdir(self.path(folder)) if name.endswith(".ckpt"))
