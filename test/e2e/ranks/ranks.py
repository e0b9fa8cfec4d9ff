"""Training by several processes over MPI: the losses of one process, a resume with another number of processes, and the events that end it.

    ranks.py ROOT
"""
import fcntl
import os
import resource
import shutil
import signal
import sys
import time

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/e2e"), os.path.join(ROOT, "test")]
from case import folder, path
from bar import compile_spec, events, gradc, program, run, write_mlp_job, write_ragged
from onnx_writer import FLOAT, INT64, Model
from rank_runs import digits_trainer, losses, mpi_environment, ranks_of, start, wait_for_steps, write_spec

STALL = 3
trainer = digits_trainer(folder, f"stall_seconds: {STALL}")
checkpoints = os.path.join(folder, "run")
endless = ["--steps", "2000000000", "--checkpoint", "run"]


def train(name, ranks, *options):
    """A short training; returns its losses."""
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


def folders_are_removed():
    """mpirun's folders are in one of the launcher's, where no other job comes between, and that is gone afterwards."""
    os.makedirs(path("temporary"))
    fresh()
    training = start([trainer, "--ranks", "2", *endless], folder, env=os.environ | {"TMPDIR": path("temporary")})
    wait_for_steps(training, checkpoints, 1)
    made, = os.listdir(path("temporary"))
    inside = os.listdir(os.path.join(path("temporary"), made))
    assert any(name.startswith(("ompi.", "prte.")) for name in inside), inside
    training.send_signal(signal.SIGTERM)
    training.communicate(timeout=60)
    assert not os.listdir(path("temporary")), os.listdir(path("temporary"))


def by_messages():
    """Ranks of one host without shared memory: the same bits as with it."""
    os.environ["GRADC_RANKS_MEMORY"] = "separate"
    for ranks in (2, 3):
        found = train(f"messages{ranks}", ranks, "--steps", "50", "--checkpoint", path(f"messages{ranks}"))
        assert found == losses(path(f"ranks{ranks}.jsonl")), f"{ranks} ranks: other losses over messages"
        assert content(f"messages{ranks}", "step-50.ckpt") == content(f"ranks{ranks}", "step-50.ckpt"), f"{ranks} ranks: other bits"
    del os.environ["GRADC_RANKS_MEMORY"]


def by_blocks():
    """A message of several blocks, the last of which is shorter."""
    job = path("blocks")
    os.mkdir(job)
    spec = write_mlp_job(job, (64, 1000, 10), batch=12, batches=4)
    with open(spec, "a") as file:
        file.write("distribution {}\n")
    large = compile_spec(spec, job)
    for ranks in (2, 3):
        found = []
        for memory in ({}, {"GRADC_RANKS_MEMORY": "separate"}):
            log = path(f"blocks{ranks}-{len(memory)}.jsonl")
            run(large, "--ranks", ranks, "--steps", 8, "--log", log, cwd=job, env=os.environ | memory)
            found.append(losses(log))
        assert len(found[0]) == 8 and found[0] == found[1], f"{ranks} ranks: other losses over messages of several blocks"


def parts_of_a_batch():
    """Ranks share the rows of each micro-batch."""
    job = path("parts")
    os.mkdir(job)
    shared = digits_trainer(job, f"stall_seconds: {STALL}", more="micro_batches: 4\n")
    for ranks in (1, 3):
        log = path(f"parts{ranks}.jsonl")
        run(shared, "--ranks", ranks, "--steps", 20, "--log", log, cwd=job)
        found = losses(log)
        worst = max(abs(a - b) for a, b in zip(losses(path("alone.jsonl")), found))
        assert len(found) == 20 and worst <= 1e-6, f"{ranks} ranks in four parts: losses differ by {worst}"


def a_cache_is_made_once():
    """One rank writes the file of a cache, and the others wait, however long: that is no loss of ranks."""
    job, other = path("cached"), path("cached-elsewhere")
    os.mkdir(job)
    spec = write_spec(job, f"stall_seconds: {STALL}")
    with open(spec) as file:
        stages = file.read()
    with open(spec, "w") as file:
        file.write(stages.replace("stage { shuffle", 'stage { cache { path: "rows.cache" } }\n  stage { shuffle', 1))
    cached = compile_spec(spec, job)
    shutil.copytree(job, other)
    short = ["--steps", "50", "--log", path("cached.jsonl"), "--checkpoint", path("cached-run")]

    def expect_the_same(said):
        assert losses(path("cached.jsonl")) == losses(path("ranks3.jsonl")), said
        assert not os.path.exists(os.path.join(job, "rows.cache.tmp"))
        shutil.rmtree(path("cached-run"))
    with open(os.path.join(job, "rows.cache.tmp"), "w") as writer:  # of a training that is killed in the end
        fcntl.flock(writer, fcntl.LOCK_EX)
        training = start([cached, "--ranks", "3", *short], job)
        time.sleep(2 * STALL)
        assert training.poll() is None, training.communicate()[0]
    expect_the_same(end(training, 0, "by 3 ranks", "waiting for another process to write cache"))
    expect_the_same(run(cached, "--ranks", 3, *short, cwd=job))
    # On a host that has no such file yet.
    command = ["mpirun", "-n", "1", cached, *short, ":", "-n", "2", cached, *short, "--data-dir", other]
    expect_the_same(end(start(command, job, env=mpi_environment()), 0, "by 3 ranks"))
    assert content("cached", "rows.cache") == content("cached-elsewhere", "rows.cache")


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
        start_again = f"go on from the newest checkpoint with: {trainer} --ranks 3 {' '.join(endless)} --resume "
        assert start_again in said and "with --elastic, the ranks that are left go on from it by themselves" in said, said
        newest = said.split(start_again)[1].splitlines()[0]
        deadline = time.monotonic() + 10
        while is_running(process):
            assert time.monotonic() < deadline, "a stopped rank is left over"
            time.sleep(0.1)
        run(trainer, "--ranks", 2, "--steps", 3, "--epochs", 1, "--checkpoint", "run", "--resume", newest, cwd=folder)


def fewer_go_on():
    """With --elastic, the remaining ranks continue from the last checkpoint, down to a single rank."""
    fresh()
    training = start([trainer, "--ranks", "3", "--elastic", *endless], folder)
    before = set()

    def await_ranks(count):
        """Their processes, all of which are new."""
        deadline = time.monotonic() + 60
        while len(ranks := ranks_of(training.pid)) != count or before & set(ranks.values()):
            assert training.poll() is None and time.monotonic() < deadline, f"{count} ranks are not there"
            time.sleep(0.05)
        seen = set(os.listdir(checkpoints)) if os.path.isdir(checkpoints) else set()
        wait_for_steps(training, checkpoints, 1 + len(seen))  # beyond those of the ranks before
        before.update(ranks.values())
        return ranks

    os.kill(await_ranks(3)[1], signal.SIGKILL)
    os.kill(await_ranks(2)[0], signal.SIGSTOP)
    await_ranks(1)
    os.kill(training.pid, signal.SIGTERM)
    said = end(training, 128 + signal.SIGTERM, "going on from the last checkpoint with 2 ranks", "going on from the last checkpoint with 1 rank\n",
               "stopped after step")
    assert said.count("error: rank ") == 2 and "newest checkpoint" not in said, said
    end(start([trainer, "--elastic"], folder), 2, "option '--elastic' goes with '--ranks', found one process")
    end(start(["mpirun", "-n", "2", trainer, "--elastic"], folder, env=mpi_environment()), 2,
        "option '--elastic' goes with '--ranks', which starts ranks again; mpirun does not")


def the_best_is_gone_on_from():
    """With --elastic: ranks are lost before the first checkpoint, but after an evaluation."""
    job = path("best")
    os.mkdir(job)
    rare = digits_trainer(job, f"stall_seconds: {STALL}", more="checkpoint { directory: \"run\"  every_epochs: 1000000000 }\n")
    best = os.path.join(job, "run", "best.ckpt")
    training = start([rare, "--ranks", "2", "--elastic", *endless, "--log", "log.jsonl"], job)
    deadline = time.monotonic() + 60
    while not (os.path.exists(best) and len(ranks := ranks_of(training.pid)) == 2):
        assert training.poll() is None and time.monotonic() < deadline, "no best states"
        time.sleep(0.05)
    time.sleep(0.5)
    os.kill(ranks[1], signal.SIGKILL)
    deadline = time.monotonic() + 60
    while b'"event":"resume"' not in content("best", "log.jsonl"):
        assert training.poll() is None and time.monotonic() < deadline, "a rank does not go on"
        time.sleep(0.1)
    os.kill(training.pid, signal.SIGTERM)
    end(training, 128 + signal.SIGTERM, "going on from the last checkpoint with 1 rank\n", "going on from 'run/best.ckpt'", "stopped after step")
    assert events(os.path.join(job, "log.jsonl"), "resume")[0]["step"] > 0


def a_rank_is_lost_before_it_joins():
    """Replaces mpirun by a script that starts one of the ranks as a process that is killed immediately."""
    for victim in (0, 1):
        script = path(f"mpirun{victim}")
        with open(script, "w") as file:
            file.write("#!/bin/sh\nshift 2\nexec mpirun -n 3 sh -c "
                       f"'test $OMPI_COMM_WORLD_RANK = {victim} && kill -9 $$; exec \"$@\"' sh \"$@\"\n")
        os.chmod(script, 0o755)
        began = time.monotonic()
        said = end(start([trainer, "--ranks", "3", "--steps", "3"], folder, env=os.environ | {"GRADC_MPIRUN": script}), 1,
                   f"error: rank {victim}", "has ended before all ranks had met: all of them stop")
        assert said.count("error: ") == 1 and said.count("rank ") == 1, said
        assert time.monotonic() - began < 20


def later_ranks_are_lost_before_they_meet():
    """With --elastic: the ranks before have left a checkpoint, and the launcher tells how to go on from it."""
    fresh()
    script = path("mpirun-later")
    with open(script, "w") as file:
        file.write("#!/bin/sh\nshift\ncount=$1\nshift\ntest $count = 3 && exec mpirun -n 3 \"$@\"\nexec mpirun -n $count sh -c "
                   "'test $OMPI_COMM_WORLD_RANK = 1 && kill -9 $$; exec \"$@\"' sh \"$@\"\n")
    os.chmod(script, 0o755)
    training = start([trainer, "--ranks", "3", "--elastic", *endless], folder, env=os.environ | {"GRADC_MPIRUN": script})
    wait_for_steps(training, checkpoints, 1)
    os.kill(ranks_of(training.pid)[2], signal.SIGKILL)
    end(training, 1, "going on from the last checkpoint with 2 ranks", "error: rank 1 ", "has ended before all ranks had met: all of them stop",
        f"go on from the newest checkpoint with: {trainer} --ranks 3 --elastic {' '.join(endless)} --resume run/step-")


def a_file_is_cut_off():
    """A file of a single rank, so that no other rank can report it."""
    jobs = [path("mapped"), path("cut")]
    os.mkdir(jobs[0])
    spec = write_mlp_job(jobs[0], (64, 8, 3), 4, 500)
    with open(spec, "a") as file:
        file.write(f"distribution {{ stall_seconds: {STALL} }}\n")
    mapped = compile_spec(spec, jobs[0])
    shutil.copytree(*jobs)
    fresh()
    parts = [["-n", count, mapped, *endless, "--data-dir", job] for count, job in zip("21", jobs)]
    training = start(["mpirun", *parts[0], ":", *parts[1]], folder, env=mpi_environment())
    wait_for_steps(training, checkpoints, 1)
    os.truncate(os.path.join(jobs[1], "x.npy"), 8192)
    said = end(training, 1, "error: rank 2: data file '", "cut/x.npy' became shorter while it was read; once the file is whole, go on "
               "from the last checkpoint with --resume")
    assert said.count("error: ") == 1, said
    # A file of all.
    fresh()
    training = start([mapped, "--ranks", "3", *endless, "--data-dir", jobs[0]], folder)
    wait_for_steps(training, checkpoints, 1)
    os.truncate(os.path.join(jobs[0], "x.npy"), 8192)
    end(training, 1, "data file '", "mapped/x.npy' became shorter while it was read", "--resume")


def a_row_is_not_finite():
    """A row of the last rank; the first one, which reports it, has finite values only."""
    job = path("not-finite")
    os.mkdir(job)
    spec = write_mlp_job(job, (64, 8, 3), 4, 5)
    with open(spec, "a") as file:
        file.write("distribution {}\n")
    with open(os.path.join(job, "x.npy"), "r+b") as file:
        file.seek(-4, os.SEEK_END)
        file.write(b"\0\0\xc0\x7f")
    said = end(start([compile_spec(spec, job), "--ranks", "3"], job), 1, "error: the loss is nan at step 5 (epoch 1); row 19 (from 0) of ",
               "has nan; the first non-finite value is nan at element ", " of node 'x' (input); no checkpoint was written")
    assert said.count("error: ") == 1 and "finite values only" not in said, said


def the_disk_is_full():
    """The first rank writes checkpoints, and reports for all ranks if it cannot."""
    fresh()
    training = start([trainer, "--ranks", "3", *endless], folder)
    wait_for_steps(training, checkpoints, 1)
    resource.prlimit(ranks_of(training.pid)[0], resource.RLIMIT_FSIZE, (20000, 20000))
    said = end(training, 1, "error: cannot write 'run/", "File too large", "; the previous checkpoint 'run/step-")
    assert said.count("error: ") == 1, said


def all_ranks_are_lost():
    fresh()
    training = start([trainer, "--ranks", "2", *endless], folder)
    wait_for_steps(training, checkpoints, 2)
    ranks = ranks_of(training.pid)
    for process in ranks.values():
        os.kill(process, signal.SIGSTOP)
    for process in ranks.values():
        os.kill(process, signal.SIGKILL)
    end(training, 1, "error: all ranks have ended unexpectedly\n", "go on from the newest checkpoint with: ", " --resume run/step-")


def a_signal_stops_all():
    for to_launcher in (True, False):
        fresh()
        training = start([trainer, "--ranks", "3", *endless], folder)
        wait_for_steps(training, checkpoints, 2)
        os.kill(training.pid if to_launcher else ranks_of(training.pid)[2], signal.SIGTERM)
        end(training, 128 + signal.SIGTERM, "stopped after step", "go on with: ", "--checkpoint run --resume")


def a_rank_fails():
    """All data exist except those of one rank."""
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


def too_few_rows_are_refused():
    """At the start: shares of a bucket's full batches, or of its last one, with a single row for a sample variance."""
    small = path("small")
    os.mkdir(small)
    model = Model("normalized", opset=20)
    of_channels = [model.initializer(name, FLOAT, [1], [value]) for name, value in zip(("s", "b", "m", "v"), (1.0, 0.0, 0.0, 1.0))]
    by_channel = model.node("Unsqueeze", [model.input("x", FLOAT, ["N", "T"]), model.initializer("one", INT64, [1], [1])], ["c"], "unsqueeze")
    value = model.node("BatchNormalization", [by_channel, *of_channels], ["n"], "bn")
    model.output(model.node("Squeeze", [value, "one"], ["p"], "squeeze"), FLOAT, ["N", "T"])
    model.save(os.path.join(small, "model.onnx"))
    write_ragged(os.path.join(small, "rows.npz"), [[(0.5 * i, 1.0)] for i in range(11)] + [[(0.0, 0.0)] * 2] * 4, ("x", "y"))
    ragged = "".join(f'ragged {{ field: "{name}"  offsets: "ends" }} ' for name in "xy")
    pads = "".join(f'stage {{ map {{ field: "{name}"  pad {{ shape: 2  {mask} }} }} }}\n' for name, mask in (("x", 'mask: "mask"'), ("y", "")))
    job = os.path.join(small, "job.textproto")

    def write_job(batch, distribution):
        with open(job, "w") as file:
            file.write('model: "model.onnx"\nloss { mean_squared_error { predictions: "p"  targets: "y" } sample_weights: "mask" }\n'
                       "optimizer { sgd { learning_rate: 0.1 } }\ndata {\n"
                       f'source {{ npz {{ path: "rows.npz" {ragged} }} }}\n{pads}stage {{ batch {{ {batch} }} }}\n}}\ndistribution {{ {distribution} }}\n')
    for batch in ("size: 4 bucket { length: 1 size: 3 }", "size: 4 bucket { length: 1 size: 4 }"):
        write_job(batch, "")
        said = end(start([compile_spec(job, small), "--ranks", "2", "--steps", "1"], small), 1,
                   f"error: entry 'train.length.1' takes 2 to {batch[-3]} rows, found a rank's share of 1: "
                   'node "bn" divides by one less than it counts')
        assert said.count("error: ") == 1, said
    # A server cannot serve workers whose batches have different lengths.
    write_job(batch, "strategy: PARAMETER_SERVER  staleness: 2")
    end(start([program("gradc"), "check", job], small), 3, "expected batches of one length beside staleness, found 1 batch { bucket }")


def what_is_missing():
    end(start([trainer, "--ranks", "2"], folder, env=os.environ | {"PATH": folder}), 1,
        "cannot start ranks: there is no mpirun in PATH", "openmpi-bin")
    no_program = path("mpirun-none")
    with open(no_program, "w") as file:
        file.write("no program\n")
    os.chmod(no_program, 0o755)
    ignoring = "import os, signal, sys; signal.signal(signal.SIGCHLD, signal.SIG_IGN); os.execv(sys.argv[1], sys.argv[1:])"
    for before in ([], [sys.executable, "-c", ignoring]):
        end(start([*before, trainer, "--ranks", "2"], folder, env=os.environ | {"GRADC_MPIRUN": no_program}), 1,
            f"error: cannot run '{no_program}'")
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


def output_is_plain():
    """mpirun gives ranks a terminal; without one of the launcher's own, nobody sees a bar that is drawn again and again."""
    said = end(start([trainer, "--ranks", "2", "--steps", "5000", "--checkpoint", "plain"], folder), 0, "by 2 ranks")
    assert "\r" not in said and "\x1b" not in said, said


def by_gradc():
    """The spec is compiled once; the run's messages name the spec."""
    said = gradc("train", "ranks.textproto", "--ranks", 2, "--steps", 20, "--checkpoint", "by-gradc", "--log", path("gradc.jsonl"),
                 cwd=folder)
    assert "gradc predict ranks.textproto --checkpoint by-gradc" in said and "by 2 ranks" in said, said
    assert losses(path("gradc.jsonl")) == losses(path("ranks2.jsonl"))[:20]


for check in (too_few_rows_are_refused, same_losses, folders_are_removed, a_cache_is_made_once, by_messages, by_blocks, parts_of_a_batch, resume_with_others, a_rank_is_lost, fewer_go_on, the_best_is_gone_on_from, a_rank_is_lost_before_it_joins, later_ranks_are_lost_before_they_meet, all_ranks_are_lost, a_signal_stops_all,
              a_rank_fails, a_file_is_cut_off, a_row_is_not_finite, the_disk_is_full, differences_are_refused, what_is_missing, without_distribution, output_is_plain, by_gradc):
    check()
    print(check.__name__)
