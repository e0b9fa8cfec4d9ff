"""What the bars share: where the built programs and examples are, running them, and reporting a figure."""
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.abspath(os.path.join(os.path.dirname(os.path.abspath(__file__)), "../.."))
BIN = os.environ.get("GRADC_BIN", os.path.join(ROOT, "build/release/bin"))
REFERENCES = os.path.join(ROOT, "test/e2e/references")
DIGITS = os.path.join(ROOT, "examples/digits")


def program(name):
    path = os.path.join(BIN, name)
    if not os.path.exists(path):
        sys.exit(f"{path} is not built: run tools/check first")
    return path


def run(*command, **options):
    """Runs a command to its end and gives back what it printed; stops with its messages when it fails."""
    command = [str(part) for part in command]
    result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, **options)
    if result.returncode:
        sys.exit(f"{' '.join(command)}: exit code {result.returncode}\n{result.stdout}{result.stderr}")
    return result.stdout


def gradc(*arguments, **options):
    return run(program("gradc"), *arguments, **options)


def compile_spec(spec, folder, emit="exe"):
    """Compiles a training spec into the folder; the path of the result."""
    name = os.path.splitext(os.path.basename(spec))[0]
    output = os.path.join(folder, name + (".so" if emit == "so" else ""))
    gradc("compile", spec, "-o", output, f"--emit={emit}")
    return output


def scratch():
    """A folder that goes when the bar ends."""
    folder = tempfile.mkdtemp(prefix="gradc-bar-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


def events(log, kind):
    """The log's events of one kind, in their order."""
    with open(log) as file:
        return [event for event in map(json.loads, file) if event["event"] == kind]


def report(text, reached):
    """Ends the bar: its figure last, exit code 1 when it falls short."""
    print(text if reached else f"{text}: SHORT")
    sys.exit(0 if reached else 1)
