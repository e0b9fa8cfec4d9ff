"""Checks the figures that `gradc plan` prints for a GPU's kernels.

    gpu_code.py PLAN MAX_LAUNCHES   a file with the plan; the maximum number of launches of a training step
"""
import re
import sys

# With 65,536 registers, two blocks of 256 threads can have 128 each. A register tile of 16 accumulators with its operands, followed by an
# optimizer's update, may take up to this many.
MAX_REGISTERS = 168
# number, blocks, threads, registers, stack, shared, occupancy, floor, kernel
ROW = re.compile(r"\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)\s+(\d+)%\s+([\d.]+)\s+(\S+)$")


def main():
    with open(sys.argv[1]) as file:
        lines = file.read().splitlines()
    wrong, kernels = [], 0
    for line in lines:
        row = ROW.match(line)
        if not row:
            continue
        kernels += 1
        _, _, threads, registers, stack, shared, occupancy, _, name = row.groups()
        if int(stack):
            wrong.append(f"{name}: {stack} bytes of stack: spills or local memory")
        if not 0 < int(registers) <= MAX_REGISTERS:
            wrong.append(f"{name}: {registers} registers, expected at most {MAX_REGISTERS}")
        if int(shared) > 48 << 10:
            wrong.append(f"{name}: {shared} bytes of shared memory, expected at most 48 KiB")
        if not int(occupancy):
            wrong.append(f"{name}: not one block of {threads} threads fits a multiprocessor")
    step = next(line for line in lines if line.startswith("train:"))
    launches = int(step.split()[1])
    if launches > int(sys.argv[2]):
        wrong.append(f"a training step of {launches} launches, expected at most {sys.argv[2]}")
    if not kernels:
        wrong.append("no kernels of a GPU in the plan")
    print("\n".join(wrong) or f"{kernels} launches, a training step of {launches}: all as promised")
    sys.exit(1 if wrong else 0)


main()
