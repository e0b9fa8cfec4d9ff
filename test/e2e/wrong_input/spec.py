"""Errors in training specs."""
import os

from bar import program
from case import DOES_NOT_FIT, ERROR, INVALID, OK, case


@case(INVALID, "mlp.textproto:5:", "shufle")
def unknown_spec_field(job):
    job.edit("data {\n", "data {\n  shufle {}\n")
    return job.check()


@case(INVALID, "fc1.wieght", "fc1.weight")
def wrong_parameter_name(job):
    job.edit("model:", 'freeze: "fc1.wieght"\nmodel:')
    return job.check()


@case(ERROR, "cannot read", "mlp.textproto", "No such file")
def missing_spec(job):
    os.remove(job.spec)
    return job.check()


@case(ERROR, "cannot read", "mlp.textproto", "No such file")
def missing_spec_to_train(job):
    os.remove(job.spec)
    return [program("gradc"), "train", job.spec]


@case(ERROR, "cannot read", "pipe.textproto", "not a regular file")
def spec_that_is_a_pipe(job):
    os.mkfifo(job.path("pipe.textproto"))
    return [program("gradc"), "check", job.path("pipe.textproto")]


@case(INVALID, "mlp.textproto:8:130: error: expected blocks nested at most 64 deep")
def blocks_nested_too_deep(job):
    with open(job.spec, "a") as file:
        file.write("x{" * 100000)
    return job.check()


@case(OK, "all ops are supported")
def byte_order_mark(job):
    with open(job.spec, "rb") as file:
        text = file.read()
    job.write("mlp.textproto", b"\xef\xbb\xbf" + text)
    return job.check()


@case(INVALID, "expected learning_rate above 0 and finite, found inf")
def infinite_rate(job):
    job.edit("adam {}", "adam { learning_rate: inf }")
    return job.check()


@case(DOES_NOT_FIT, "memory_mb: 256 } is too small", "2 batches of 1000000000 rows")
def batch_beyond_the_budget(job):
    job.edit("size: 4  drop_remainder: true", "size: 1000000000")
    return [program("gradc"), "train", job.spec]


def lazy_group(job, more, rule="sgd {}"):
    job.edit("adam {}", rule)
    with open(job.spec, "a") as file:
        file.write(f'group {{ pattern: "fc1.weight"  lazy: true }}\n{more}\n')
    return job.check()


@case(INVALID, "mlp.textproto:8:", "a lazy group updates only the rows that a step reads", "the l2 0.1 of sgd changes all rows: set it to 0")
def lazy_with_l2(job):
    return lazy_group(job, "", "sgd { l2: 0.1 }")


@case(INVALID, "a lazy group updates only the rows that a step reads", "the weight_decay 0.01 of adamw changes all rows: set it to 0")
def lazy_with_default_decay(job):
    return lazy_group(job, "", "adamw {}")


@case(INVALID, "a lazy group updates only the rows that a step reads", "`ema` averages all rows")
def lazy_with_average(job):
    return lazy_group(job, "ema {}")


@case(INVALID, "a lazy group updates only the rows that a step reads", "`swa` averages all rows")
def lazy_with_equal_average(job):
    return lazy_group(job, "swa { begin: 2 }")


@case(INVALID, "a lazy group updates only the rows that a step reads", "ranks add up gradients of all rows")
def lazy_with_ranks(job):
    return lazy_group(job, "distribution {}")


@case(INVALID, "a lazy group updates only the rows that a step reads", "a frozen group has no updates")
def lazy_and_frozen(job):
    job.edit("adam {}", "sgd {}")
    with open(job.spec, "a") as file:
        file.write('group { pattern: "fc1.weight"  lazy: true  frozen: true }\n')
    return job.check()


@case(INVALID, 'expected the steps to read only rows of "fc1.weight", which is lazy', "this grad.")
def lazy_without_rows(job):
    return lazy_group(job, "")
