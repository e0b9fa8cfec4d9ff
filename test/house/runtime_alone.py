"""Configures the runtime alone with one of its presets, builds it, and runs its tests.

    runtime_alone.py ROOT gcc|asan|tsan

Prints one line, unless a command fails: then the end of its output.
"""
import fcntl
import os
import subprocess
import sys

MAX_SECONDS = 3600


def run(command, **options):
    """Succeeds, or ends this program with the end of the output of `command`."""
    try:
        done = subprocess.run(command, text=True, errors="replace", stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=MAX_SECONDS, **options)
    except subprocess.TimeoutExpired:
        sys.exit(f"{' '.join(command)}: not done in {MAX_SECONDS} s")
    if done.returncode:
        said = "\n".join(done.stdout.splitlines()[-100:])
        sys.exit(f"{said}\n{' '.join(command)}: exit code {done.returncode}")


def main():
    root, preset = sys.argv[1:]
    build = os.path.join(root, f"build/runtime-{preset}")
    os.makedirs(build, exist_ok=True)
    lock = open(f"{build}.lock", "w")
    fcntl.flock(lock, fcntl.LOCK_EX)  # until this program ends: another one waits
    if not os.path.exists(os.path.join(build, "build.ninja")):
        run(["cmake", "--preset", preset], cwd=os.path.join(root, "runtime"))
    run(["ninja", "-C", build])
    programs = os.path.join(build, "test/unit")
    tests = sorted(name for name in os.listdir(programs) if name.endswith("-test"))
    for name in tests:
        run([os.path.join(programs, name), "--gtest_brief=1"])
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        if "LLVM_DIR" in file.read():
            sys.exit("the runtime's configuration looked for LLVM")
    print(f"{len(tests)} programs passed with {preset}")
    return 0 if tests else 1


if __name__ == "__main__":
    sys.exit(main())
