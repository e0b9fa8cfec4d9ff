"""Helpers of pictures.test.

    pictures.py accuracy LOG WANTED          the last evaluation's accuracy is at least WANTED
    pictures.py alike TABLE                  TABLE has several predictions, which are the same
    pictures.py swap PROGRAM RUNNER OUTPUT   PROGRAM's artifact behind another runner
"""
import csv
import json
import os
import struct
import sys


def accuracy(log, wanted):
    with open(log) as file:
        last = [event for event in map(json.loads, file) if event["event"] == "eval"][-1]
    print(f"accuracy {last['accuracy']:.2%}")
    return last["accuracy"] >= float(wanted)


def alike(table):
    with open(table, newline="") as file:
        rows = [row[1:] for row in csv.reader(file)][1:]
    return len(rows) > 1 and all(row == rows[0] for row in rows)


def swap(program, runner, output):
    """The trailer is the artifact's size, 8 bytes, and its magic."""
    with open(program, "rb") as file:
        data = file.read()
    with open(runner, "rb") as file:
        code = file.read()
    size = struct.unpack("<Q", data[-16:-8])[0]
    with open(output, "wb") as file:
        file.write(code + bytes(-len(code) % 64) + data[-16 - size:])
    os.chmod(output, 0o755)
    return True


sys.exit(0 if {"accuracy": accuracy, "alike": alike, "swap": swap}[sys.argv[1]](*sys.argv[2:]) else 1)
