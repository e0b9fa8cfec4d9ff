"""Continues a text with a trained model, one character at a time, through `gradc run`. Each character is drawn by the model's scores; with
temperature 0 it is the best one.

    write.py trained.onnx [TEXT] [COUNT] [TEMPERATURE]
"""
import math
import os
import random
import struct
import subprocess
import sys
import tempfile

CONTEXT, VOCABULARY = 32, 128


def scores(model, text, folder):
    """The scores of the character after the text. Places after a text shorter than the context are ignored."""
    tokens = [ord(c) for c in text[-CONTEXT:]]
    header = f"{{'descr': '<i8', 'fortran_order': False, 'shape': (1, {CONTEXT}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    inputs = os.path.join(folder, "tokens.npy")
    with open(inputs, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{CONTEXT}q", *tokens, *[0] * (CONTEXT - len(tokens))))
    subprocess.run(["gradc", "run", model, "--input", f"tokens={inputs}", "--output-dir", folder], check=True,
                   stdout=subprocess.DEVNULL)
    with open(os.path.join(folder, "logits.npy"), "rb") as file:
        logits = file.read()[-4 * CONTEXT * VOCABULARY:]
    return struct.unpack_from(f"<{VOCABULARY}f", logits, 4 * VOCABULARY * (len(tokens) - 1))


def main():
    model = sys.argv[1]
    text = sys.argv[2] if len(sys.argv) > 2 else "This License"
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 80
    temperature = float(sys.argv[4]) if len(sys.argv) > 4 else 0
    if not text or any(ord(c) >= VOCABULARY for c in text):
        sys.exit(f"expected a text of ASCII characters, found {text!r}")
    numbers = random.Random(1)
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(count):
            found = scores(model, text, folder)
            best = max(range(VOCABULARY), key=found.__getitem__)
            if temperature > 0:
                weights = [math.exp((score - found[best]) / temperature) for score in found]
                best = numbers.choices(range(VOCABULARY), weights)[0]
            text += chr(best)
    print(text)


if __name__ == "__main__":
    main()
