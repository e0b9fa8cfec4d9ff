"""Errors in output paths: files that would overwrite an input, or that cannot be written."""
import os
import re
import resource
import shutil
import subprocess

from bar import compile_spec, program
from case import ERROR, INVALID, OK, USAGE, Job, answer, case


@case(USAGE, "cannot write", "mlp.textproto: it is an input")
def compile_over_the_spec(job):
    return [program("gradc"), "compile", job.spec, "-o", job.spec]


@case(USAGE, "mlp.onnx: it is an input")
def compile_over_the_model(job):
    return [program("gradc"), "compile", job.spec, "-o", job.path("mlp.onnx")]


@case(USAGE, "x.npy: it is an input")
def compile_over_the_data(job):
    return [program("gradc"), "compile", job.spec, "-o", job.path("x.npy")]


@case(ERROR, "cannot write", "x.npy', which the run reads")
def export_over_the_data(job):
    return job.train("--export", "x.npy")


@case(ERROR, "cannot write", "labels.npy', which the run reads")
def log_over_the_data(job):
    return job.train("--log", "labels.npy")


@case(ERROR, "cannot write", "mlp.onnx': the run reads it")
def export_over_the_model(job):
    job.edit("model:", 'export { onnx: "mlp.onnx" }\nmodel:')
    return job.train()


@case(ERROR, "cannot write", "it is this program")
def export_over_the_trainer(job):
    command = job.train()
    return [*command, "--export", command[0]]


@case(ERROR, "cannot write", "mlp.textproto': the run reads it")
def export_over_the_spec(job):
    return [program("gradc"), "train", job.spec, "--export", job.spec]


@case(ERROR, "cannot write", "mlp.textproto': the run reads it")
def log_over_the_spec(job):
    return [program("gradc"), "train", job.spec, "--log", job.spec]


@case(ERROR, "cannot write", "mlp.textproto': it is '", "mlp.textproto', which the run reads")
def log_over_the_spec_of_a_trainer(job):
    return job.train("--log", "./mlp.textproto")


@case(ERROR, "cannot write", "mlp.textproto': it is '", "mlp.textproto', which the run reads")
def rates_over_the_spec_of_a_trainer(job):
    return job.train("--find-learning-rate", "./mlp.textproto")


@case(ERROR, "cannot write", "mlp.onnx': it is '", "mlp.onnx', which the run reads")
def rates_over_the_model(job):
    return job.train("--find-learning-rate", "./mlp.onnx")


@case(ERROR, "cannot write", "teacher.onnx': it is '", "teacher.onnx', which the run reads")
def log_over_the_teacher(job):
    shutil.copyfile(job.path("mlp.onnx"), job.path("teacher.onnx"))
    job.edit("optimizer", 'teacher { model: "teacher.onnx" output: "logits" }\noptimizer')
    return job.train("--log", "./teacher.onnx")


@case(ERROR, "cannot write", "mlp.textproto': the run reads it")
def predictions_over_the_spec(job):
    return [program("gradc"), "predict", job.spec, "--checkpoint", job.checkpoint(), "--data", job.path("x.npy"), "-o", job.spec]


@case(ERROR, "cannot write", "mlp': the run reads it")
def export_over_the_artifact(job):
    trainer = job.train()[0]
    return [program("gradc"), "train", trainer, "--export", trainer]


@case(ERROR, "cannot write", "it is a checkpoint")
def log_over_the_checkpoint_of_a_resume(job):
    checkpoint = job.checkpoint()
    return job.train("--resume", checkpoint, "--checkpoint", job.path("next"), "--log", checkpoint)


@case(ERROR, "cannot write", "it is a checkpoint")
def predictions_over_another_checkpoint(job):
    checkpoint = job.checkpoint()
    shutil.copyfile(checkpoint, job.path("kept.ckpt"))
    return [program("gradc"), "predict", job.spec, "--checkpoint", checkpoint, "--data", job.path("x.npy"), "-o", job.path("kept.ckpt")]


@case(ERROR, "cannot write", "mlp.onnx'", "run reads")
def exported_weights_over_the_model(job):
    return [program("gradc"), "export", job.train()[0], "-o", job.path("mlp.onnx")]


@case(USAGE, "--log and --export both write 'both'")
def two_outputs_in_one_file(job):
    return job.train("--log", "both", "--export", "both")


@case(OK)
def two_outputs_that_nobody_keeps(job):
    return job.train("--log", "/dev/null", "--trace", "/dev/null", "--steps", "2")


@case(USAGE, "it is an input")
def weights_over_the_checkpoint(job):
    checkpoint = job.checkpoint()
    os.rename(checkpoint, job.path("kept.safetensors"))
    return [program("gradc"), "export", job.path("kept.safetensors"), "-o", job.path("kept.safetensors")]


@case(USAGE, "it is the input")
def results_over_an_input(job):
    os.rename(job.path("x.npy"), job.path("logits.npy"))
    return [program("gradc"), "run", job.path("mlp.onnx"), "--input", f"x={job.path('logits.npy')}"]


@answer
def report_that_nobody_gets():
    """A report on a full disk is not a success."""
    job = Job()
    job.edit("optimizer", 'evaluation { data { source { npy { field { name: "x" path: "x.npy" } field { name: "labels" path: "labels.npy" } } } '
             "stage { batch { size: 4 } } } }\noptimizer")
    checkpoint = job.checkpoint()
    for command in (["check", job.spec], ["check", job.spec, "--json"], ["inspect", job.path("mlp.onnx")], ["doctor"], ["verify", job.spec],
                    ["evaluate", job.spec, "--checkpoint", checkpoint], ["train", job.spec, "--help"]):
        with open("/dev/full", "w") as full:
            result = subprocess.run([program("gradc"), *command], stdout=full, stderr=subprocess.PIPE, text=True)
        if result.returncode != ERROR or "cannot write to standard output" not in result.stderr:
            return f"{command}: exit code {result.returncode}\n{result.stderr}"
    return None


@answer
def full_temporary_folder():
    """A command that links kernels there reports it, and leaves no file."""
    job = Job()
    os.mkdir(job.path("tmp"))
    result = subprocess.run([program("gradc"), "train", job.spec], stderr=subprocess.PIPE, text=True, restore_signals=False,
                            env=dict(os.environ, TMPDIR=job.path("tmp")),
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    if result.returncode == ERROR and "File too large; see TMPDIR" in result.stderr and "LLVM" not in result.stderr:
        left = os.listdir(job.path("tmp"))
        return f"leaves {left}" if left else None
    return f"exit code {result.returncode}\n{result.stderr}"


@answer
def full_folder_of_dumps():
    """One message, which names the file."""
    job = Job()
    result = subprocess.run([program("gradc"), "check", job.spec, "--dump-after-each", job.path("dump")], stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True, restore_signals=False,
                            preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)))
    said = re.findall(r"cannot write \S*dump/\S+\.mlir: File too large", result.stderr)
    return None if said and len(said) <= 3 and "IO failure" not in result.stderr else f"exit code {result.returncode}\n{result.stderr}"


@answer
def no_temporary_folder():
    """The message names the variable that names the folder."""
    job = Job()
    result = subprocess.run([program("gradc"), "train", job.spec], stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, TMPDIR=job.path("nowhere")))
    said = re.search(r"cannot write temporary file '\S*nowhere/gradc-link-\w+': No such file or directory; see TMPDIR", result.stderr)
    return None if result.returncode == ERROR and said else f"exit code {result.returncode}\n{result.stderr}"


@case(ERROR, "cannot write", "pipe.onnx", "not a regular file")
def export_to_a_pipe(job):
    os.mkfifo(job.path("pipe.onnx"))
    return [*job.train(), "--export", job.path("pipe.onnx")]


@case(ERROR, "cannot write", "pipe", "not a regular file")
def compile_to_a_pipe(job):
    os.mkfifo(job.path("pipe"))
    return [program("gradc"), "compile", job.spec, "-o", job.path("pipe")]


@answer
def damaged_artifact():
    """The same exit code for every command."""
    job = Job()
    trainer = compile_spec(job.spec, job.folder)
    with open(trainer, "r+b") as file:
        file.seek(-3000, os.SEEK_END)
        file.write(bytes(64))
    for command in (["run", trainer, "--input", f"x={job.path('x.npy')}"], ["train", trainer], ["inspect", trainer],
                    ["bench", trainer], ["export", trainer, "-o", job.path("out.onnx")]):
        result = subprocess.run([program("gradc"), *command], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        if result.returncode != INVALID:
            return f"{command}: exit code {result.returncode}\n{result.stdout}"
    return None
