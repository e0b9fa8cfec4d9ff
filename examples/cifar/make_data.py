"""Makes pictures.npz: 800 color pictures of 24 x 24 in ten classes. Each shows a figure on a darker ground, with random colors, place, and
size, and with a twentieth of the pixels replaced at random.

    make_data.py [OUTPUT]

Fields: images uint8 [800, 3, 24, 24], labels int64 [800].
"""
import os
import random
import struct
import sys
import zipfile

HERE = os.path.dirname(os.path.abspath(__file__))
COUNT, SIZE = 800, 24

# Whether a point belongs to the figure; x and y run from -1 to 1 over it.
FIGURES = [
    lambda x, y: x * x + y * y < 1,  # disc
    lambda x, y: 0.4 < x * x + y * y < 1,  # ring
    lambda x, y: max(abs(x), abs(y)) < 0.9,  # square
    lambda x, y: abs(x) + abs(y) < 1,  # diamond
    lambda x, y: min(abs(x), abs(y)) < 0.25 and max(abs(x), abs(y)) < 1,  # plus
    lambda x, y: min(abs(x + y), abs(x - y)) < 0.35 and max(abs(x), abs(y)) < 1,  # cross
    lambda x, y: abs(x) < (y + 1) / 2 and y < 1,  # triangle
    lambda x, y: abs(y) < 0.3 and abs(x) < 1,  # bar
    lambda x, y: abs(x) < 0.3 and abs(y) < 1,  # post
    lambda x, y: max(abs(x), abs(y)) < 1 and (int(2 * x + 2) + int(2 * y + 2)) % 2 == 0,  # checkers
]


def colour(numbers):
    """With eight shades per channel, so that the archive stays small."""
    return [32 * numbers.randrange(8) for _ in range(3)]


def picture(numbers, inside):
    """The bytes of one picture, channel by channel."""
    ground, figure = colour(numbers), colour(numbers)
    while sum(figure) < sum(ground) + 200:
        ground, figure = colour(numbers), colour(numbers)
    radius = numbers.uniform(8, 11)
    column, row = (numbers.uniform(radius, SIZE - radius) for _ in range(2))
    pixels = [figure if inside((x + 0.5 - column) / radius, (y + 0.5 - row) / radius) else ground
              for y in range(SIZE) for x in range(SIZE)]
    pixels = [colour(numbers) if numbers.random() < 0.05 else pixel for pixel in pixels]
    return bytes(pixel[channel] for channel in range(3) for pixel in pixels)


def npy(descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(len(header) + 11) % 64) + "\n"
    return b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data


def main():
    numbers = random.Random(1)
    labels = [numbers.randrange(len(FIGURES)) for _ in range(COUNT)]
    images = b"".join(picture(numbers, FIGURES[label]) for label in labels)
    path = sys.argv[1] if len(sys.argv) > 1 else os.path.join(HERE, "pictures.npz")
    with zipfile.ZipFile(path, "w", compresslevel=9) as archive:
        for name, array in (("images", npy("|u1", (COUNT, 3, SIZE, SIZE), images)),
                            ("labels", npy("<i8", (COUNT,), struct.pack(f"<{COUNT}q", *labels)))):
            # A fixed date: the same bytes whenever it is made.
            archive.writestr(zipfile.ZipInfo(f"{name}.npy", (2020, 1, 1, 0, 0, 0)), array, zipfile.ZIP_DEFLATED)

if __name__ == "__main__":
    main()
