"""Faults of training specs."""
import os

from case import INVALID, case


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
