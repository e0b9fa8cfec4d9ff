"""How a training ends or continues when its environment changes: another training wants its folder, its terminal or its reader goes away,
its data file is truncated, or nobody reads its log.

    interrupted.py ROOT
"""
import fcntl
import json
import os
import shutil
import signal
import subprocess
import sys
import termios
import time

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars"), os.path.join(ROOT, "test")]
from bar import compile_spec, scratch, write_mlp_job

folder = scratch()
trainer = compile_spec(write_mlp_job(folder, (64, 8, 3), 4, 500), folder)
checkpoints = os.path.join(folder, "run")


def start(*options, **how):
    """A training that runs until a signal ends it."""
    command = [trainer, "--data-dir", folder, "--steps", "2000000000", *options]
    return subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **how)


def saved():
    if not os.path.isdir(checkpoints):
        return []
    return sorted(int(name[5:-5]) for name in os.listdir(checkpoints) if name.endswith(".ckpt"))


def wait_for_checkpoint(training):
    while not saved():
        assert training.poll() is None, training.communicate()[0]
        time.sleep(0.02)


def end(training, code, *phrases):
    said = training.communicate(timeout=60)[0]
    missing = [phrase for phrase in phrases if phrase not in said]
    assert training.returncode == code and not missing, f"{code} expected, {training.returncode} found, without {missing}:\n{said}"


def fresh():
    shutil.rmtree(checkpoints, ignore_errors=True)


def two_in_one_folder():
    first = start("--checkpoint", "run")
    wait_for_checkpoint(first)
    for more in ([], ["--resume"]):
        second = start("--checkpoint", "run", *more)
        end(second, 1, "folder 'run' belongs to a training under way", f"process {first.pid}", "--checkpoint")
    # The kernel releases the lock of a process that had no time to release it.
    first.kill()
    end(first, -signal.SIGKILL)
    end(start("--checkpoint", "run", "--resume", "--steps", str(saved()[-1] + 1)), 0)


def hang_up():
    training = start("--checkpoint", "run")
    wait_for_checkpoint(training)
    before = saved()[-1]
    training.send_signal(signal.SIGHUP)
    end(training, 128 + signal.SIGHUP, "stopped after step", "checkpoint 'run/step-",
        f"go on with: {trainer} --data-dir {folder} --steps 2000000000 --checkpoint run --resume\n")
    # The loss of the step at which it stopped, not of the last step of an epoch.
    assert saved()[-1] > before and any(step % 500 for step in saved()), saved()


def the_printed_command_goes_on():
    """It has the options of the run, quoted where a shell needs it, but no earlier --resume."""
    log = os.path.join(folder, "the log.jsonl")
    options = ["--checkpoint", "run", "--learning-rate=2e-3", "--log", log]
    training = start(*options)
    wait_for_checkpoint(training)
    training.send_signal(signal.SIGTERM)
    end(training, 128 + signal.SIGTERM)
    first = saved()[-1]
    training = start(*options, "--resume", f"run/step-{first}.ckpt", "--export", "own.onnx")
    while saved()[-1] == first:
        assert training.poll() is None, training.communicate()[0]
        time.sleep(0.02)
    training.send_signal(signal.SIGTERM)
    said = training.communicate(timeout=60)[0]
    wanted = (f"{trainer} --data-dir {folder} --steps 2000000000 --checkpoint run --learning-rate=2e-3 --log '{log}' "
              "--export own.onnx --resume")
    command = said.split("go on with: ")[1].strip()
    assert command == wanted, said
    second = saved()[-1]
    result = subprocess.run(command.replace("2000000000", str(second + 3)), shell=True, cwd=folder, capture_output=True, text=True)
    assert result.returncode == 0 and f"trained to step {second + 3}" in result.stdout, result.stdout + result.stderr
    with open(log) as file:
        rates = {event["lr"] for event in map(json.loads, file) if event["event"] == "step"}
    assert rates == {2e-3} and os.path.exists(os.path.join(folder, "own.onnx")), rates


def hang_up_under_nohup():
    training = start("--checkpoint", "run", preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
    wait_for_checkpoint(training)
    training.send_signal(signal.SIGHUP)
    before = saved()[-1]
    while saved()[-1] == before:
        assert training.poll() is None, training.communicate()[0]
        time.sleep(0.02)
    training.send_signal(signal.SIGTERM)
    end(training, 128 + signal.SIGTERM)


def nothing_is_kept():
    training = start()
    time.sleep(0.5)
    training.send_signal(signal.SIGINT)
    end(training, 128 + signal.SIGINT, "nothing was kept: name a folder for checkpoints with --checkpoint")


def reader_goes_away():
    command = [trainer, "--data-dir", folder, "--epochs", "2", "--export", "trained.onnx", "--checkpoint", "run"]
    training = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE)
    training.stdout.close()
    assert training.wait(60) == 0, training.returncode
    assert saved()[-1] == 1000 and os.path.exists(os.path.join(folder, "trained.onnx"))


def data_is_cut_off():
    data = os.path.join(folder, "x.npy")
    with open(data, "rb") as file:
        whole = file.read()
    training = start("--checkpoint", "run")
    wait_for_checkpoint(training)
    os.truncate(data, 8192)
    end(training, 1, "x.npy' became shorter while it was read", "checkpoint 'run/step-", "--resume")
    newest = saved()[-1]
    with open(data, "wb") as file:
        file.write(whole)
    end(start("--checkpoint", "run", "--resume", "--steps", str(newest + 3)), 0, f"trained to step {newest + 3}")


def no_standard_streams():
    """No message gets into a file that takes the place of a closed stream."""
    log, exported = os.path.join(folder, "closed.jsonl"), os.path.join(folder, "closed.onnx")
    options = ["--steps", "3", "--log", log, "--export", exported]
    subprocess.run(["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", trainer, *options], cwd=folder, check=True)
    with open(log) as file:
        lines = [json.loads(line) for line in file]
    assert [line["step"] for line in lines if line["event"] == "step"] == [1, 2, 3], lines
    assert os.path.getsize(exported) == os.path.getsize(os.path.join(folder, "mlp.onnx"))


def waits_for_a_cache():
    """The first signal ends the wait for another training that writes the cache."""
    with open(os.path.join(folder, "mlp.textproto")) as file:
        spec = file.read()
    cached = spec.replace("data {", 'data { stage { cache { path: "rows.cache" } } ', 1)
    assert cached != spec
    with open(os.path.join(folder, "cached.textproto"), "w") as file:
        file.write(cached)
    waiting = [compile_spec(os.path.join(folder, "cached.textproto"), folder), "--checkpoint", "run"]
    with open(os.path.join(folder, "rows.cache.tmp"), "w") as writer:
        fcntl.flock(writer, fcntl.LOCK_EX)
        training = subprocess.Popen(waiting, cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        said = training.stdout.readline()
        assert said.startswith("waiting for another process to write cache"), said + training.communicate()[0]
        training.send_signal(signal.SIGINT)
        end(training, 128 + signal.SIGINT, "error: stopped before the first step, waiting for another process to write cache")


def the_log_comes_first():
    """A checkpoint waits until the log has all steps up to it, so a run that is killed after it has lost no line."""
    log, room = os.path.join(folder, "log.pipe"), 4096
    os.mkfifo(log)
    reader = os.open(log, os.O_RDONLY | os.O_NONBLOCK)
    fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, room)
    training = start("--checkpoint", "run", "--log", log)
    held = bytearray(4)
    while int.from_bytes(held, sys.byteorder) < room:
        assert training.poll() is None, training.communicate()[0]
        time.sleep(0.02)
        fcntl.ioctl(reader, termios.FIONREAD, held)
    assert not saved(), saved()
    training.kill()
    end(training, -signal.SIGKILL)
    os.close(reader)


for check in (two_in_one_folder, hang_up, the_printed_command_goes_on, hang_up_under_nohup, nothing_is_kept, reader_goes_away, data_is_cut_off, no_standard_streams,
              waits_for_a_cache, the_log_comes_first):
    fresh()
    check()
print("interrupted: all ended as they should")
