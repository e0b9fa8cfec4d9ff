"""Errors in command lines."""
from bar import program
from case import USAGE, case


@case(USAGE, "--treads", "--threads")
def unknown_option(job):
    return job.train("--treads", "2")


@case(USAGE, "--steps", "three")
def option_of_the_wrong_kind(job):
    return job.train("--steps", "three")


@case(USAGE)
def unknown_command(job):
    return [program("gradc"), "trian", job.spec]
