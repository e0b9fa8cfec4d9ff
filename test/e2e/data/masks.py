"""Trains a segmenter on pictures with masks, in PNG files of different sizes: scores [N, classes, height, width], as PyTorch has them, and masks
whose pixels are indices into a palette. Random maps turn and cut both alike; predictions need no masks.

    masks.py
"""
import os
import random
import struct
import sys
import zlib

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "../../bars"))
from bar import compile_spec, events, run, scratch
from onnx_writer import FLOAT, Model

PICTURES, SIDE = 24, 8
DECODE = f"""source {{ folder {{ path: "pictures"  masks: "masks" }} }}
  stage {{ map {{ field: "image"  decode {{}} }} }}
  stage {{ map {{ field: "mask"  decode {{ indices: true }} }} }}
  stage {{ map {{ field: "image"  field: "mask"  resize {{ height: {SIDE} width: {SIDE} }} }} }}"""
AUGMENT = f"""stage {{ map {{ field: "image"  field: "mask"  random_crop {{ height: {SIDE} width: {SIDE} padding: 1 fill: 200 mask_fill: 1 }} }} }}
  stage {{ map {{ field: "image"  field: "mask"  flip {{ vertical: 0.5 }} }} }}"""
NUMBERS = """stage { map { field: "image"  normalize { mean: 0.5 deviation: 0.25 } } }
  stage { map { field: "mask"  cast: I64 } }"""
SPEC = f"""model: "segmenter.onnx"
feed {{ input: "x"  field: "image" }}
loss {{ softmax_cross_entropy {{ logits: "scores"  labels: "mask" }} }}
metric {{ accuracy {{ logits: "scores"  labels: "mask" }} }}
metric {{ iou {{ logits: "scores"  labels: "mask"  average: MACRO }} }}
metric {{ auc {{ logits: "scores"  labels: "mask"  average: MACRO }} }}
optimizer {{ adam {{ learning_rate: 0.1 }} }}
data {{ {DECODE} {AUGMENT} {NUMBERS} stage {{ shuffle {{}} }} stage {{ batch {{ size: 8 }} }} }}
evaluation {{ data {{ {DECODE} {NUMBERS} stage {{ batch {{ size: 5 }} }} }} }}
epochs: 20
checkpoint {{ directory: "run" }}
"""


def chunk(kind, data):
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def write_png(path, width, rows, bits, color, palette=b""):
    """`rows`: the bytes of each row."""
    header = struct.pack(">2I5B", width, len(rows), bits, color, 0, 0, 0)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + (chunk(b"PLTE", palette) if palette else b"")
                   + chunk(b"IDAT", zlib.compress(b"".join(b"\0" + row for row in rows))) + chunk(b"IEND", b""))


def packed(bits):
    """One bit for each pixel, the first one highest."""
    bits = bits + [0] * (-len(bits) % 8)
    return bytes(sum(bit << (7 - i) for i, bit in enumerate(bits[at:at + 8])) for at in range(0, len(bits), 8))


def write_pictures(folder):
    """Bright pixels to the left of a line, whose class is 1, and dark ones to its right."""
    numbers = random.Random(4)
    for name in ("pictures", "masks"):
        os.mkdir(os.path.join(folder, name))
    for i in range(PICTURES):
        height, width = numbers.randrange(12, 21), numbers.randrange(12, 21)
        mask = [[int(x < width // 2 + y % 3) for x in range(width)] for y in range(height)]
        colors = [bytes((200 if bright else 60) + numbers.randrange(-20, 21) for bright in row for _ in range(3)) for row in mask]
        write_png(os.path.join(folder, "pictures", f"{i:02}.png"), width, colors, 8, 2)
        write_png(os.path.join(folder, "masks", f"{i:02}.png"), width, [packed(row) for row in mask], 1, 3, bytes([9, 9, 9, 200, 0, 0]))


def write_model(path):
    model = Model("segmenter")
    x = model.input("x", FLOAT, ["N", 3, SIDE, SIDE])
    weight = model.initializer("conv.weight", FLOAT, [2, 3, 1, 1], [0.1, -0.2, 0.05, -0.1, 0.2, 0.1])
    bias = model.initializer("conv.bias", FLOAT, [2], [0.0, 0.1])
    model.output(model.node("Conv", [x, weight, bias], ["scores"], "conv"), FLOAT, ["N", 2, SIDE, SIDE])
    model.save(path)


def main():
    folder = scratch()
    write_pictures(folder)
    write_model(os.path.join(folder, "segmenter.onnx"))
    spec, log = os.path.join(folder, "segment.textproto"), os.path.join(folder, "log.jsonl")
    with open(spec, "w") as out:
        out.write(SPEC)
    trainer = compile_spec(spec, folder)
    run(trainer, "--log", log, "--quiet", cwd=folder)
    last = events(log, "eval")[-1]
    print({name: round(last[name], 3) for name in ("accuracy", "iou", "auc")})
    # Pixels beside the line are a mixture of both.
    if not (last["accuracy"] > 0.9 and last["iou"] > 0.8 and last["auc"] > 0.95):
        sys.exit("expected an accuracy above 0.9, an iou above 0.8 and an auc above 0.95")
    os.rename(os.path.join(folder, "masks"), os.path.join(folder, "elsewhere"))
    run(trainer, "predict", "--checkpoint", "run", "--data", "pictures", "-o", "scores.csv", cwd=folder)
    with open(os.path.join(folder, "scores.csv")) as table:
        lines = table.read().splitlines()
    if len(lines) != PICTURES + 1:
        sys.exit(f"expected predictions for {PICTURES} pictures, found {len(lines) - 1}")


main()
