"""Configures the runtime alone by one of its presets, builds it and passes its tests.

    runtime_alone.py ROOT gcc|asan|tsan
"""
import os
import subprocess
import sys


def main():
    root, preset = sys.argv[1:]
    build = os.path.join(root, f"build/runtime-{preset}")
    if not os.path.exists(os.path.join(build, "build.ninja")):
        subprocess.run(["cmake", "--preset", preset], cwd=os.path.join(root, "runtime"), check=True)
    subprocess.run(["ninja", "-C", build], check=True)
    programs = os.path.join(build, "test/unit")
    tests = sorted(name for name in os.listdir(programs) if name.endswith("-test"))
    for name in tests:
        subprocess.run([os.path.join(programs, name), "--gtest_brief=1"], check=True)
    with open(os.path.join(build, "CMakeCache.txt")) as file:
        if "LLVM_DIR" in file.read():
            sys.exit("the runtime's configuration looked for LLVM")
    print(f"{len(tests)} programs passed with {preset}")
    return 0 if tests else 1


if __name__ == "__main__":
    sys.exit(main())
