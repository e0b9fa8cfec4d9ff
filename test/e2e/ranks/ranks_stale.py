"""An asynchronous parameter server over MPI: it learns, its checkpoints are snapshots at a barrier, and it ends like other trainings.

    ranks_stale.py ROOT
"""
import os
import signal
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars"), os.path.join(ROOT, "test")]
from bar import compile_spec, events, run, scratch
from rank_runs import digits_trainer, losses, ranks_of, start, wait_for_steps, write_spec

STALE = "strategy: PARAMETER_SERVER  staleness: 2  stall_seconds: 3"
folder = scratch()
trainer = digits_trainer(folder, STALE)


def end(training, code, *phrases):
    said = training.communicate(timeout=60)[0]
    missing = [phrase for phrase in phrases if phrase not in said]
    assert training.returncode == code and not missing, f"{code} expected, {training.returncode} found, without {missing}:\n{said}"
    assert said.count("error: ") == (code in (1, 2)), said


def accuracy(log):
    return events(os.path.join(folder, log), "eval")[-1]["accuracy"]


def learns():
    """With one to three workers. One process, and other workers, continue from the checkpoint."""
    for ranks in (2, 3, 4):
        run(trainer, "--ranks", ranks, "--log", f"{ranks}.jsonl", "--checkpoint", f"run{ranks}", "--steps", 700, "--quiet", cwd=folder)
        found = losses(os.path.join(folder, f"{ranks}.jsonl"))
        assert len(found) == 700 and found[-1] < 0.5 * found[0], found[-1]
        assert accuracy(f"{ranks}.jsonl") >= 0.95, (ranks, accuracy(f"{ranks}.jsonl"))
    # No step is left, so this only evaluates the checkpoint.
    run(trainer, "--log", "alone.jsonl", "--checkpoint", "run3", "--steps", 700, "--resume", "--quiet", cwd=folder)
    alone, by_three = (events(os.path.join(folder, log), "eval")[-1] for log in ("alone.jsonl", "3.jsonl"))
    for name in ("loss", "accuracy"):
        assert abs(alone[name] - by_three[name]) <= 1e-5, (name, alone[name], by_three[name])
    run(trainer, "--ranks", 4, "--log", "more.jsonl", "--checkpoint", "run3", "--steps", 800, "--resume", "--quiet", cwd=folder)
    assert len(losses(os.path.join(folder, "more.jsonl"))) == 100 and accuracy("more.jsonl") >= 0.95


def one_worker_is_synchronous():
    """A single worker has the whole batch, and its server updates after each step: the losses are those of one process."""
    run(trainer, "--log", "one.jsonl", "--steps", 20, "--quiet", cwd=folder)
    one, found = losses(os.path.join(folder, "one.jsonl")), losses(os.path.join(folder, "2.jsonl"))
    worst = max(abs(a - b) for a, b in zip(one, found))
    assert len(one) == 20 and worst <= 1e-6, worst


def needs_rows():
    """A worker without rows has no gradient, so a whole batch or the last one is too small."""
    for number, (batch, found) in enumerate((("size: 2", "batch of 2 rows"),
                                             ("size: 718", "last batch of 1 row, which batch { drop_remainder: true } leaves out"))):
        where = os.path.join(folder, f"rows{number}")
        os.mkdir(where)
        spec = write_spec(where, STALE)
        with open(spec) as file:
            text = file.read().replace("size: 32  drop_remainder: true", batch)
        with open(spec, "w") as file:
            file.write(text)
        end(start([compile_spec(spec, where), "--ranks", "4"], where), 1,
            f"expected each batch to have at least 1 row for each of 3 workers beside distribution {{ staleness }}, found a {found}")


def stops_at_values_that_are_not_finite():
    """Both workers reach the end, and one of them reports it."""
    end(start([trainer, "--ranks", "3", "--learning-rate", "1e30"], folder), 1, "the loss is ", " at step ", "no checkpoint was written")


def ends():
    """Ended by a signal, with a checkpoint, and when a worker or the server is lost or hangs."""
    command = [trainer, "--ranks", "3", "--steps", "2000000000", "--checkpoint", "run"]

    def begin(*options):
        seen = len(os.listdir(os.path.join(folder, "run"))) if options else 0
        training = start(command + list(options), folder)
        wait_for_steps(training, os.path.join(folder, "run"), seen + 1)
        return training, ranks_of(training.pid)
    for number, rank in enumerate((0, 1, 2)):
        training, ranks = begin(*["--resume"][:number])
        os.kill(ranks[rank], signal.SIGTERM)
        end(training, 128 + signal.SIGTERM, "stopped after step", "--checkpoint run --resume")
    for lost in (1, 2):
        training, ranks = begin("--resume")
        os.kill(ranks[lost], signal.SIGKILL)
        end(training, 1, f"rank {lost} (process {ranks[lost]} on '", "has ended unexpectedly")
    training, ranks = begin("--resume")
    os.kill(ranks[1], signal.SIGSTOP)
    end(training, 1, f"rank 1 (process {ranks[1]} on '", "has given no sign of life for ")


for part in (learns, one_worker_is_synchronous, needs_rows, stops_at_values_that_are_not_finite, ends):
    part()
    print(part.__name__, flush=True)
