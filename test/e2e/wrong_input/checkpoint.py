"""Errors in checkpoints."""
import os
import resource
import subprocess

from bar import REFERENCES, write_mlp_job
from case import ERROR, OK, Job, answer, case


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


@case(ERROR, "is of another job: it trained 'fc1.", "', which is constant in this artifact")
def resume_with_frozen_weights(job):
    newest = job.checkpoint()
    job.edit("model:", 'freeze: "fc1.*"\nmodel:')
    return job.train("--resume", newest)


@case(ERROR, "is of another job: it did not train 'fc1.", "', which this artifact trains")
def resume_with_weights_that_were_frozen(job):
    job.edit("model:", 'freeze: "fc1.*"\nmodel:')
    newest = job.checkpoint()
    job.edit('freeze: "fc1.*"', "")
    return job.train("--resume", newest)


@case(ERROR, "is of another job: its `train` blocks or groups with frozen_until_step are not those of this artifact: it lacks state 'gradc.steps/")
def resume_with_train_blocks(job):
    newest = job.checkpoint()
    job.edit("model:", 'train { name: "lower"  trains: "fc1.*" }\ntrain { name: "upper"  trains: "fc2.*" }\nmodel:')
    return job.train("--resume", newest)


MOMENTUM, LARS = "momentum { learning_rate: 0.01 }", "lars { learning_rate: 0.01 }"


@case(ERROR, "is of another optimizer: its state 'fc", ".velocity' is of '", "', this artifact's is of '")
def resume_with_kinds_of_optimizers_that_swapped(job):
    """Both jobs have the same kinds, and slots of the same names and types."""
    group = 'group { pattern: "fc2.*"  optimizer { %s } }'
    job.edit("optimizer { adam {} }", f"optimizer {{ {MOMENTUM} }}\n{group % LARS}")
    newest = job.checkpoint()
    job.edit(f"optimizer {{ {MOMENTUM} }}\n{group % LARS}", f"optimizer {{ {LARS} }}\n{group % MOMENTUM}")
    return job.train("--resume", newest)


@case(ERROR, "is of another optimizer: its state 'fc", ".velocity' is of 'momentum', this artifact's is of 'keras momentum'")
def resume_with_the_momentum_of_keras(job):
    job.edit("adam {}", MOMENTUM)
    newest = job.checkpoint()
    job.edit("momentum {", "momentum { keras: true ")
    return job.train("--resume", newest)


@case(OK, "trained to step 6")
def resume_without_a_kind_that_kept_nothing(job):
    """A checkpoint of a job whose group of another kind has no parameter that trains."""
    group = f'freeze: "fc2.bias"\ngroup {{ pattern: "fc2.bias"  optimizer {{ {LARS} }} }}\n'
    job.edit("model:", f"{group}model:")
    newest = job.checkpoint()
    job.edit(f"optimizer {{ {LARS} }}", f"optimizer {{ {MOMENTUM} }}")
    command = job.train("--resume", newest)
    command.remove("--quiet")
    return command


@case(OK, "batches of another size than 3", "the epochs end at step 23", "trained to step 23")
def resume_with_another_batch(job):
    """24 rows: 3 of 6 steps in batches of 4, then the other 12 rows, and two epochs more, in batches of 3."""
    newest = job.checkpoint()
    job.edit("size: 4", "size: 3")
    command = job.train("--resume", newest, "--epochs", "3")
    command.remove("--quiet")
    return command


@case(OK, "trained with seed 0, which stays; the spec's is 9")
def resume_with_another_seed(job):
    newest = job.checkpoint()
    job.edit("model:", "seed: 9\nmodel:")
    command = job.train("--resume", newest)
    command.remove("--quiet")
    return command


@case(OK, "trained to step 6", "last loss 1.488")
def resume_with_an_old_checkpoint(job):
    """Step 3 of this job, saved when a data block listed its stages without `stage` and artifacts had version 5. That compiler's trainer
    continued to a loss of 1.4885."""
    job.edit("stage { batch", 'stage { map { field: "x"  standardize {} } } stage { batch')
    command = job.train("--resume", os.path.join(REFERENCES, "standardized-mlp.ckpt"))
    command.remove("--quiet")
    return command


@case(ERROR, "no checkpoint in")
def resume_from_nothing(job):
    return job.train("--checkpoint", job.path("empty"), "--resume")


@answer
def full_disk():
    """The disk becomes full while a checkpoint is written: exit 1 with the reason, and the previous checkpoint stays valid."""
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
