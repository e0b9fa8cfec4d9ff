"""Gives gradc each mistake that a user can make, and checks the exit code and the required parts of the message.

    run.py ROOT [NAME...]

Cases are in the file of the thing that is wrong; a new file is imported here.
"""
import os
import sys

ROOT = os.path.abspath(sys.argv[1])
sys.path[:0] = [os.path.join(ROOT, "test/bars"), os.path.join(ROOT, "test")]
from case import ANSWERS
import model
import spec
import data
import map_model
import checkpoint
import output
import command_line


def main():
    wanted = sys.argv[2:] or list(ANSWERS)
    failures = 0
    for name in wanted:
        wrong = ANSWERS[name]()
        if wrong:
            failures += 1
            print(wrong)
    print(f"wrong-input: {len(wanted) - failures} of {len(wanted)} answered as they should")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
