"""Makes a folder of JPEGs, with one sub-folder per class: figures on grounds of another color, with random place, size, and angle, in
pictures of different sizes, with noise. 600 pictures take about ten seconds.

    make_pictures.py [FOLDER] [--count 100]     (pictures of each class; default folder: pictures, beside this script)
"""
import argparse
import math
import os
import random

import jpeg_writer

# Whether a point belongs to the figure; x and y run from -1 to 1 over it.
FIGURES = {
    "bar": lambda x, y: abs(y) < 0.3 and abs(x) < 1,
    "cross": lambda x, y: min(abs(x), abs(y)) < 0.25 and max(abs(x), abs(y)) < 1,
    "disc": lambda x, y: x * x + y * y < 0.8,
    "ring": lambda x, y: 0.35 < x * x + y * y < 0.9,
    "square": lambda x, y: max(abs(x), abs(y)) < 0.75,
    "triangle": lambda x, y: abs(x) < (y + 1) * 0.6 and y < 0.7,
}


def colours(numbers):
    """A ground and a figure that stands out."""
    while True:
        ground, figure = ([numbers.randrange(256) for _ in range(3)] for _ in range(2))
        if sum(abs(a - b) for a, b in zip(ground, figure)) > 250:
            return ground, figure


def picture(numbers, inside):
    height, width = (numbers.randrange(32, 49) for _ in range(2))
    ground, figure = colours(numbers)
    radius = min(height, width) * numbers.uniform(0.3, 0.45)
    row, column = (side / 2 + numbers.uniform(-1, 1) * (side / 2 - radius) for side in (height, width))
    angle = numbers.uniform(-0.3, 0.3)
    cosine, sine = math.cos(angle) / radius, math.sin(angle) / radius

    def pixel(y, x):
        down, right = y + 0.5 - row, x + 0.5 - column
        colour = figure if inside(right * cosine + down * sine, down * cosine - right * sine) else ground
        noise = numbers.gauss(0, 12)
        return tuple(min(max(int(value + noise), 0), 255) for value in colour)

    return [[pixel(y, x) for x in range(width)] for y in range(height)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", nargs="?", default=os.path.join(os.path.dirname(os.path.abspath(__file__)), "pictures"))
    parser.add_argument("--count", type=int, default=100)
    a = parser.parse_args()
    numbers = random.Random(1)
    for name, inside in FIGURES.items():
        os.makedirs(os.path.join(a.folder, name), exist_ok=True)
        for i in range(a.count):
            with open(os.path.join(a.folder, name, f"{i:04d}.jpg"), "wb") as file:
                file.write(jpeg_writer.encode(picture(numbers, inside)))


if __name__ == "__main__":
    main()
