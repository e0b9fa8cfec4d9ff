"""Training by several processes over MPI: the losses of one process, a resume with another number of them, and what ends it.

    ranks.py ROOT
"""
import os
import shutil
import signal
import sys
import time

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars"), os.path.join(ROOT, "test")]
from bar import events, gradc, run, scratch
from rank_runs import digits_trainer, losses, mpi_environment, ranks_of, start, wait_for_steps

STALL = 3
folder = scratch()
trainer = digits_trainer(folder, f"stall_seconds: {STALL}")
checkpoints = os.path.join(folder, "run")
endless = ["--steps", "2000000000", "--checkpoint", "run"]


def path(name):
    return os.path.join(folder, name)


def train(name, ranks, *options):
    """A short training: its losses."""
    run(trainer, "--ranks", ranks, "--log", path(name + ".jsonl"), *options, cwd=folder)
    return losses(path(name + ".jsonl"))


def content(*names):
    with open(os.path.join(folder, *names), "rb") as file:
        return file.read()


def end(training, code, *phrases):
    said = training.communicate(timeout=60)[0]
    missing = [phrase for phrase in phrases if phrase not in said]
    assert training.returncode == code and not missing, f"{code} expected, {training.returncode} found, without {missing}:\n{said}"
    return said


def fresh():
    shutil.rmtree(checkpoints, ignore_errors=True)


def evaluation(name):
    found = events(path(name + ".jsonl"), "eval")[-1]
    return found["loss"], found["accuracy"]


def same_losses():
    alone = train("alone", 1, "--steps", "50", "--checkpoint", path("alone"))
    for ranks in (2, 3):
        together = train(f"ranks{ranks}", ranks, "--steps", "50", "--checkpoint", path(f"ranks{ranks}"))
        assert len(together) == 50, together
        worst = max(abs(a - b) for a, b in zip(alone[:20], together))
        assert worst <= 1e-6, f"{ranks} ranks: losses differ by {worst}"
        worst = max(abs(a - b) for a, b in zip(evaluation("alone"), evaluation(f"ranks{ranks}")))
        assert worst <= 1e-4, f"{ranks} ranks: evaluations differ by {worst}"
        again = train(f"again{ranks}", ranks, "--steps", "50", "--checkpoint", path(f"again{ranks}"))
        assert again == together, f"{ranks} ranks: other losses in another run"
        assert content(f"ranks{ranks}", "step-50.ckpt") == content(f"again{ranks}", "step-50.ckpt"), f"{ranks} ranks: other bits"


def resume_with_others():
    whole = train("whole", 2, "--steps", "40", "--checkpoint", path("whole"))
    train("part", 2, "--steps", "25", "--checkpoint", path("part"))
    rest = train("part", 3, "--steps", "40", "--checkpoint", path("part"), "--resume")
    worst = max(abs(a - b) for a, b in zip(whole, rest))
    assert len(rest) == 40 and worst <= 1e-5, f"resumed by 3 ranks: {len(rest)} losses, which differ by {worst}"


def is_running(process):
    try:
        with open(f"/proc/{process}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


def a_rank_is_lost():
    for number, victim in ((signal.SIGKILL, 1), (signal.SIGKILL, 0), (signal.SIGSTOP, 1), (signal.SIGSTOP, 0)):
        fresh()
        training = start([trainer, "--ranks", "3", *endless], folder)
        wait_for_steps(training, checkpoints, 2)
        process = ranks_of(training.pid)[victim]
        os.kill(process, number)
        began = time.monotonic()
        said = end(training, 1, f"rank {victim} (process {process} on '",
                   "has ended unexpectedly" if number == signal.SIGKILL else "has given no sign of life")
        seconds = time.monotonic() - began
        assert seconds < STALL + 10, f"it took {seconds} s to end"
        assert said.count("error: ") == 1, said
        deadline = time.monotonic() + 10
        while is_running(process):
            assert time.monotonic() < deadline, "a stopped rank is left over"
            time.sleep(0.1)
        run(trainer, "--ranks", 2, "--steps", 3, "--epochs", 1, "--checkpoint", "run", "--resume", cwd=folder)


def all_ranks_are_lost():
    fresh()
    training = start([trainer, "--ranks", "2", *endless], folder)
    wait_for_steps(training, checkpoints, 1)
    ranks = ranks_of(training.pid)
    for process in ranks.values():
        os.kill(process, signal.SIGSTOP)
    for process in ranks.values():
        os.kill(process, signal.SIGKILL)
    end(training, 1)


def a_signal_stops_all():
    for to_launcher in (True, False):
        fresh()
        training = start([trainer, "--ranks", "3", *endless], folder)
        wait_for_steps(training, checkpoints, 2)
        os.kill(training.pid if to_launcher else ranks_of(training.pid)[2], signal.SIGTERM)
        end(training, 128 + signal.SIGTERM, "stopped after step", "go on with: ", "--checkpoint run --resume")


def a_rank_fails():
    """All data but one rank's are there."""
    other = path("elsewhere")
    shutil.copytree(folder, other, ignore=shutil.ignore_patterns("elsewhere", "run", "*.ckpt"))
    os.remove(os.path.join(other, "digits.npz"))
    training = start(["mpirun", "-n", "2", trainer, "--steps", "3", ":", "-n", "1", trainer, "--steps", "3", "--data-dir", other],
                     folder, env=mpi_environment())
    said = end(training, 1, "error: rank 2: ", "digits.npz")
    assert said.count("error: ") == 1, said


def differences_are_refused():
    for option, what in (("--seed=8", "the seed is 8, expected"), ("--steps=9", "the number of steps is 9, expected 3"),
                         ("--learning-rate=0.5", "the learning rate is 0.5, expected")):
        arguments = ["mpirun", "-n", "2", trainer, "--steps=3", ":", "-n", "1", trainer, "--steps=3", option]
        said = end(start(arguments, folder, env=mpi_environment()), 1, f"error: rank 2 differs from rank 0: {what}")
        assert said.count("error: ") == 1, said


def what_is_missing():
    end(start([trainer, "--ranks", "2"], folder, env=os.environ | {"PATH": folder}), 1,
        "cannot start ranks: there is no mpirun in PATH", "openmpi-bin")
    end(start([trainer, "--ranks", "2"], folder, env=os.environ | {"GRADC_LIBMPI": "libnone.so"}), 1,
        "cannot open MPI: libnone.so", "GRADC_LIBMPI")
    end(start([trainer, "--ranks", "2"], folder, env=os.environ | {"GRADC_LIBMPI": "libz.so.1"}), 1,
        "expected Open MPI 4 or 5, found an MPI library without MPI_Get_library_version")
    for options in (["--sweep", "seed=1,2"], ["--find-learning-rate", "rates.csv"]):
        end(start([trainer, "--ranks", "2", *options], folder), 2, f"option '{options[0]}' goes with one process")
    end(start([trainer, "--ranks", "none"], folder), 2, "option '--ranks' is 'none', expected a number from 1 to 4096")
    end(start(["mpirun", "-n", "2", trainer, "--ranks", "3"], folder, env=mpi_environment()), 2,
        "option '--ranks' is 3, but mpirun has started 2 processes")


def without_distribution():
    one = path("one")
    os.makedirs(one)
    alone = digits_trainer(one, None)
    for command in ([alone, "--ranks", "2"], ["mpirun", "-n", "2", alone]):
        end(start(command, one, env=mpi_environment()), 3, "add distribution { } to the training spec")
    run(alone, "--ranks", 1, "--steps", 2, cwd=one)


def by_gradc():
    """The spec is compiled once; what a run says names the spec."""
    said = gradc("train", "ranks.textproto", "--ranks", 2, "--steps", 20, "--checkpoint", "by-gradc", "--log", path("gradc.jsonl"),
                 cwd=folder)
    assert "gradc predict ranks.textproto --checkpoint by-gradc" in said and "by 2 ranks" in said, said
    assert losses(path("gradc.jsonl")) == losses(path("ranks2.jsonl"))[:20]


for check in (same_losses, resume_with_others, a_rank_is_lost, all_ranks_are_lost, a_signal_stops_all, a_rank_fails, differences_are_refused,
              what_is_missing, without_distribution, by_gradc):
    check()
    print(check.__name__)
