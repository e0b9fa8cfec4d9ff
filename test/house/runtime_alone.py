"""Configures the runtime alone, with no LLVM in sight, builds it and passes its tests.

    runtime_alone.py ROOT BUILD gcc|tsan|asan
"""
import os
import subprocess
import sys

KINDS = {
    "gcc": ["-DCMAKE_CXX_COMPILER=g++", "-DCMAKE_C_COMPILER=gcc"],
    "tsan": ["-DCMAKE_CXX_FLAGS=-fsanitize=thread -g1", "-DCMAKE_C_FLAGS=-fsanitize=thread"],
    "asan": ["-DCMAKE_CXX_FLAGS=-fsanitize=address,undefined -fno-sanitize-recover=all -g1",
             "-DCMAKE_C_FLAGS=-fsanitize=address,undefined"],
}


def main():
    root, build, kind = sys.argv[1:]
    options = KINDS[kind]
    if kind != "gcc":
        options = [*options, "-DCMAKE_CXX_COMPILER=clang++-22", "-DCMAKE_C_COMPILER=clang-22"]
    if not os.path.exists(os.path.join(build, "build.ninja")):
        launcher = ["-DCMAKE_CXX_COMPILER_LAUNCHER=ccache"]
        subprocess.run(["cmake", "-G", "Ninja", "-S", os.path.join(root, "runtime"), "-B", build,
                        "-DGRADC_RUNTIME_TESTS=ON", *launcher, *options], check=True)
    subprocess.run(["ninja", "-C", build], check=True)
    programs = os.path.join(build, "test/unit")
    tests = sorted(name for name in os.listdir(programs) if name.endswith("-test"))
    for name in tests:
        subprocess.run([os.path.join(programs, name), "--gtest_brief=1"], check=True)
    cache = open(os.path.join(build, "CMakeCache.txt")).read()
    if "LLVM_DIR" in cache or "MLIR_DIR" in cache:
        sys.exit("the runtime's configuration looked for LLVM")
    print(f"{len(tests)} programs passed with {kind}")
    return 0 if tests else 1


if __name__ == "__main__":
    sys.exit(main())
