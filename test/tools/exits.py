"""Runs a command, and succeeds if it exits with the given code; its output goes to stdout.

    exits.py CODE COMMAND...
"""
import subprocess
import sys

expected, command = int(sys.argv[1]), sys.argv[2:]
result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(result.stdout, end="")
if result.returncode != expected:
    sys.exit(f"expected exit code {expected}, found {result.returncode}")
