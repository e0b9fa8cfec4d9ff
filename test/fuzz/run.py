"""Builds the fuzz targets and runs each for some time, from the stored pictures and records on. A finding ends it with exit
code 1; the input that causes it stays in the build folder.

    run.py [--seconds 600] [NAME...]     default: all targets
"""
import argparse
import os
import struct
import subprocess
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
BUILD = os.path.join(ROOT, "build/runtime-fuzz")
REFERENCES = os.path.join(ROOT, "test/unit/runtime/data/image/references.npz")


def write_seeds(folder, belongs):
    """The stored arrays of bytes that belong, a file each."""
    os.makedirs(folder, exist_ok=True)
    with zipfile.ZipFile(REFERENCES) as archive:
        for name in filter(belongs, archive.namelist()):
            data = archive.read(name)
            with open(os.path.join(folder, os.path.splitext(name)[0]), "wb") as file:
                file.write(data[10 + struct.unpack("<H", data[8:10])[0]:])


SEEDS = {"picture": lambda name: name.startswith("file-"), "tfrecord": lambda name: name == "tfrecord.npy"}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("names", nargs="*")
    parser.add_argument("--seconds", type=int, default=600)
    a = parser.parse_args()
    if not os.path.exists(os.path.join(BUILD, "build.ninja")):
        subprocess.run(["cmake", "--preset", "fuzz"], cwd=os.path.join(ROOT, "runtime"), check=True)
    known = sorted(os.path.splitext(name)[0] for name in os.listdir(HERE) if name.endswith(".cpp"))
    names = a.names or known
    subprocess.run(["ninja", "-C", BUILD, *(f"fuzz-{name}" for name in names)], check=True)
    found = 0
    for name in names:
        corpus = os.path.join(BUILD, "corpus", name)
        write_seeds(corpus, SEEDS.get(name, lambda _: False))
        result = subprocess.run([os.path.join(BUILD, "bin", f"fuzz-{name}"), f"-max_total_time={a.seconds}", "-timeout=10",
                                 "-rss_limit_mb=2048", "-max_len=20000", "-print_final_stats=1", corpus], cwd=BUILD,
                                stderr=subprocess.PIPE, text=True, errors="replace")
        runs = [line for line in result.stderr.splitlines() if "number_of_executed_units" in line]
        print(f"{name}: {'no finding' if result.returncode == 0 else 'FOUND'} in {a.seconds} s, "
              f"{runs[0].split()[-1] if runs else 0} runs", flush=True)
        if result.returncode:
            found += 1
            print(result.stderr[-4000:])
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
