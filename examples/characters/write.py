"""Continues a text with a trained model, one character at a time, through `gradc run`.

    write.py trained.onnx [TEXT] [COUNT]
"""
import os
import struct
import subprocess
import sys
import tempfile

WINDOW, CHARACTERS = 8, 128


def main():
    model = sys.argv[1]
    text = sys.argv[2] if len(sys.argv) > 2 else "This License"
    count = int(sys.argv[3]) if len(sys.argv) > 3 else 40
    if len(text) < WINDOW or any(ord(c) >= CHARACTERS for c in text):
        sys.exit(f"expected a text of at least {WINDOW} ASCII characters, found {text!r}")
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': (1, {WINDOW}, {CHARACTERS}), }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with tempfile.TemporaryDirectory() as folder:
        inputs = os.path.join(folder, "window.npy")
        for _ in range(count):
            hot = [float(ord(c) == i) for c in text[-WINDOW:] for i in range(CHARACTERS)]
            with open(inputs, "wb") as file:
                file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
                file.write(struct.pack(f"<{len(hot)}f", *hot))
            subprocess.run(["gradc", "run", model, "--input", f"x={inputs}", "--output-dir", folder], check=True,
                           stdout=subprocess.DEVNULL)
            with open(os.path.join(folder, "logits.npy"), "rb") as file:
                logits = struct.unpack(f"<{CHARACTERS}f", file.read()[-4 * CHARACTERS:])
            text += chr(max(range(CHARACTERS), key=logits.__getitem__))
    print(text)


if __name__ == "__main__":
    main()
