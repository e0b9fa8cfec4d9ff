"""Classifies eight digits of the test set with a trained model, through `gradc run`, and shows them.

    classify.py trained.onnx [digits.npz]
"""
import ast
import os
import struct
import subprocess
import sys
import tempfile
import zipfile

TEST_ROWS = range(0, 40, 5)  # every fifth row is test data
SHADES = " .:-=+*#%@"


def read_npy(data):
    """(shape, flat values) of the .npy file in `data`."""
    version_2 = data[6] >= 2
    (length,) = struct.unpack_from("<I" if version_2 else "<H", data, 8)
    start = (12 if version_2 else 10) + length
    header = ast.literal_eval(data[start - length : start].decode())
    code = {"|u1": "B", "<i8": "q", "<f4": "f"}[header["descr"]]
    return header["shape"], struct.unpack(f"<{(len(data) - start) // struct.calcsize(code)}{code}", data[start:])


def write_npy(path, shape, values):
    header = f"{{'descr': '<f4', 'fortran_order': False, 'shape': {tuple(shape)}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    with open(path, "wb") as file:
        file.write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode())
        file.write(struct.pack(f"<{len(values)}f", *values))


def main():
    model = sys.argv[1]
    data = sys.argv[2] if len(sys.argv) > 2 else os.path.join(os.path.dirname(__file__), "digits.npz")
    with zipfile.ZipFile(data) as archive:
        _, pixels = read_npy(archive.read("images.npy"))
        _, labels = read_npy(archive.read("labels.npy"))
    pictures = [pixels[64 * row : 64 * row + 64] for row in TEST_ROWS]

    with tempfile.TemporaryDirectory() as folder:
        inputs = os.path.join(folder, "pictures.npy")
        write_npy(inputs, (len(pictures), 8, 8), [value / 16 for picture in pictures for value in picture])
        try:
            subprocess.run(["gradc", "run", model, "--input", f"x={inputs}", "--output-dir", folder], check=True)
        except FileNotFoundError:
            sys.exit("gradc is not on the PATH")
        except subprocess.CalledProcessError as error:
            sys.exit(error.returncode)  # gradc has said why
        with open(os.path.join(folder, "logits.npy"), "rb") as file:
            (_, classes), logits = read_npy(file.read())

    answers = [max(range(classes), key=lambda c: logits[i * classes + c]) for i in range(len(pictures))]
    for y in range(8):
        print("  ".join("".join(SHADES[min(v, 15) * 10 // 16] for v in p[8 * y : 8 * y + 8]) for p in pictures))
    truth = [labels[row] for row in TEST_ROWS]
    print("  ".join(f"{a} is {t}".ljust(8) if a != t else f"   {a}    " for a, t in zip(answers, truth)))
    print(f"{sum(a == t for a, t in zip(answers, truth))} of {len(truth)} right")


if __name__ == "__main__":
    main()
