"""Builds the fuzz targets and runs each for some time, starting from the stored pictures, records, and models. A finding ends it with exit
code 1; the input that causes it stays in the build folder.

    run.py [--seconds 600] [NAME...]     default: all targets
    run.py --seeds FOLDER                writes the models that the importer's target starts from, and nothing else
"""
import argparse
import glob
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "../..")
IMPORTER = ("model",)  # targets that the whole project builds; the others are the runtime's
MOST_BYTES = 20000
REFERENCES = os.path.join(ROOT, "test/unit/runtime/data/image/references.npz")


def build_folder(name):
    return os.path.abspath(os.path.join(ROOT, "build/release" if name in IMPORTER else "build/runtime-fuzz"))


def write_models(folder):
    """The hostile models of the tests, the models of the importer's tests, small models in the tree, and earlier findings."""
    os.makedirs(folder, exist_ok=True)
    sys.path[:0] = [os.path.join(ROOT, "test"), os.path.join(ROOT, "test/e2e/wrong_table")]
    from models import MODELS
    for name, make in MODELS.items():
        model = make()
        with open(os.path.join(folder, name), "wb") as file:
            file.write(model if isinstance(model, bytes) else model.bytes())
    with tempfile.TemporaryDirectory() as made:
        subprocess.run([sys.executable, os.path.join(ROOT, "test/import/make_models.py"), made], check=True)
        paths = [os.path.join(made, "in/*.onnx")]
        paths += [os.path.join(ROOT, path) for path in ("test/e2e/*/*.onnx", "examples/*/*.onnx", "test/fuzz/found/*")]
        for path in (path for pattern in paths for path in glob.glob(pattern)):
            if os.path.isfile(path) and os.path.getsize(path) <= MOST_BYTES:
                shutil.copyfile(path, os.path.join(folder, "-".join(path.split(os.sep)[-2:])))


def write_dictionary(path):
    """The names of the operators."""
    with open(os.path.join(ROOT, "docs/operators.md")) as page, open(path, "w") as file:
        for name in sorted(set(re.findall(r"^\| \[?`?([A-Z]\w+)", page.read(), re.M))):
            file.write(f'"{name}"\n')


def write_seeds(folder, name):
    """The start inputs of a target: models, or the stored arrays of bytes that belong to it, one file each."""
    os.makedirs(folder, exist_ok=True)
    if name in IMPORTER:
        return write_models(folder)
    belongs = SEEDS.get(name, lambda _: False)
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
    parser.add_argument("--seeds")
    a = parser.parse_args()
    if a.seeds:
        return write_models(a.seeds)
    known = sorted(os.path.splitext(name)[0] for name in os.listdir(HERE) if re.fullmatch(r"[a-z]+\.cpp", name))
    found = 0
    for name in a.names or known:
        build = build_folder(name)
        if not os.path.exists(os.path.join(build, "build.ninja")):
            preset, source = ("release", ROOT) if name in IMPORTER else ("fuzz", os.path.join(ROOT, "runtime"))
            subprocess.run(["cmake", "--preset", preset], cwd=source, check=True)
        subprocess.run(["ninja", "-C", build, f"fuzz-{name}"], check=True)
        corpus = os.path.join(build, "corpus", name)
        write_seeds(corpus, name)
        dictionary = os.path.join(build, "corpus", "operators.dict")
        write_dictionary(dictionary)
        # A context survives a hundred models, so each of them looks like a leak, and searching for leaks takes longer than importing.
        importer = [f"-dict={dictionary}", "-detect_leaks=0"]
        result = subprocess.run([os.path.join(build, "bin", f"fuzz-{name}"), f"-max_total_time={a.seconds}", "-timeout=10",
                                 "-rss_limit_mb=2048", f"-max_len={MOST_BYTES}", "-print_final_stats=1",
                                 *(importer if name in IMPORTER else []), corpus], cwd=build,
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
