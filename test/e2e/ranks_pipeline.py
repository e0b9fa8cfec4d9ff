"""Ranks that are the stages of a pipeline, over MPI: the losses of one process with the same micro-batches, checkpoints that fit any
number of ranks and any strategy, and what ends such a training.

    ranks_pipeline.py ROOT
"""
import os
import shutil
import signal
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars"), os.path.join(ROOT, "test")]
from bar import events, run, scratch
from rank_runs import digits_trainer, losses, mpi_environment, ranks_of, start, wait_for_steps

STEPS, PARTS = 50, "micro_batches: 4\nclip { global_norm: 1 }\nema { decay: 0.9 }\n"
folder = scratch()


def trainer_of(name, distribution, more=PARTS):
    os.mkdir(os.path.join(folder, name))
    return digits_trainer(os.path.join(folder, name), f"{distribution}  stall_seconds: 3", more=more)


def train(trainer, name, ranks, steps, *options):
    """The losses of a training, its last evaluation, and the checkpoint at its end."""
    log, run_folder = os.path.join(folder, name + ".jsonl"), os.path.join(folder, name)
    run(trainer, "--ranks", ranks, "--log", log, "--checkpoint", run_folder, "--steps", steps, *options, cwd=os.path.dirname(trainer))
    with open(os.path.join(run_folder, f"step-{steps}.ckpt"), "rb") as file:
        return losses(log), events(log, "eval")[-1], file.read()


def worst(expected, found):
    assert len(expected) == len(found) > 0, f"{len(found)} losses, expected {len(expected)}"
    return max(abs(a - b) for a, b in zip(expected, found))


def follow_one_process(name, stages, more=PARTS):
    trainer = trainer_of(name, f"strategy: PIPELINE  stages: {stages}", more)
    alone, evaluated, _ = train(trainer, f"{name}-alone", 1, STEPS)
    found = train(trainer, f"{name}-stages", stages, STEPS)
    assert worst(alone[:20], found[0][:20]) <= 1e-6, f"{stages} stages: losses differ by {worst(alone[:20], found[0][:20])}"
    assert abs(evaluated["loss"] - found[1]["loss"]) <= 1e-4, f"{stages} stages: evaluations {evaluated} and {found[1]}"
    os.environ["GRADC_RANKS_MEMORY"] = "separate"
    again = train(trainer, f"{name}-again", stages, STEPS)
    del os.environ["GRADC_RANKS_MEMORY"]
    assert again[0] == found[0] and again[2] == found[2], f"{stages} stages: other bits again"
    return trainer, alone


def resume_as_others(trainer, alone, mirrored):
    """A checkpoint of stages goes on in one process and with other strategies, and theirs with stages."""
    for number, (first, ranks, second, more) in enumerate(((trainer, 2, trainer, 1), (trainer, 2, mirrored, 3), (mirrored, 3, trainer, 2))):
        name = f"resumed{number}"
        train(first, name, ranks, 25)
        os.remove(os.path.join(folder, name + ".jsonl"))
        rest = train(second, name, more, 40, "--resume")[0]
        assert worst(alone[25:40], rest) <= 1e-5, f"{name}: losses differ by {worst(alone[25:40], rest)}"


def end(training, code, *phrases):
    said = training.communicate(timeout=60)[0]
    missing = [phrase for phrase in phrases if phrase not in said]
    assert training.returncode == code and not missing, f"{code} expected, {training.returncode} found, without {missing}:\n{said}"
    assert said.count("error: ") == (code in (1, 2)), said


def end_together(trainer):
    """By a signal, with a checkpoint of all stages; and once a stage is lost."""
    where, checkpoints = os.path.dirname(trainer), os.path.join(os.path.dirname(trainer), "run")
    command = [trainer, "--ranks", "2", "--steps", "2000000000", "--checkpoint", "run"]
    for rank, number, code, phrases in ((0, signal.SIGTERM, 128 + signal.SIGTERM, ("stopped after step", "--checkpoint run --resume")),
                                        (1, signal.SIGKILL, 1, ("rank 1 (process", "has ended unexpectedly"))):
        seen = len(os.listdir(checkpoints)) if os.path.isdir(checkpoints) else 0
        training = start(command + ["--resume"] * (seen > 0), where)
        wait_for_steps(training, checkpoints, seen + 1)
        os.kill(ranks_of(training.pid)[rank], number)
        end(training, code, *phrases)


def refuse_other_numbers(trainer):
    where = os.path.dirname(trainer)
    said = "found 3 ranks, expected 2: one for each of the stages"
    end(start([trainer, "--ranks", "3"], where), 2, said)
    end(start([shutil.which("mpirun"), "-n", "3", trainer], where, env=mpi_environment()), 2, said)
    end(start([trainer, "--ranks", "2", "--elastic"], where), 2, "option '--elastic' does not go with strategy: PIPELINE")


two, losses_alone = follow_one_process("two", 2)
follow_one_process("three", 3)
follow_one_process("whole", 2, more="")
resume_as_others(two, losses_alone, trainer_of("mirrored", "strategy: MIRRORED"))
end_together(two)
refuse_other_numbers(two)
