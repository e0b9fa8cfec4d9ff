"""Writes baseline JPEG files in plain Python: YCbCr at full resolution, the standard's quantization and Huffman tables."""
import math
import struct

ZIGZAG = sorted(range(64), key=lambda i: (i // 8 + i % 8, i // 8 if (i // 8 + i % 8) % 2 else i % 8))
LIGHT = [16, 11, 10, 16, 24, 40, 51, 61, 12, 12, 14, 19, 26, 58, 60, 55, 14, 13, 16, 24, 40, 57, 69, 56, 14, 17, 22, 29, 51, 87, 80, 62,
         18, 22, 37, 56, 68, 109, 103, 77, 24, 35, 55, 64, 81, 104, 113, 92, 49, 64, 78, 87, 103, 121, 120, 101, 72, 92, 95, 98, 112,
         100, 103, 99]
COLOUR = [17, 18, 24, 47, 99, 99, 99, 99, 18, 21, 26, 66, 99, 99, 99, 99, 24, 26, 56, 99, 99, 99, 99, 99, 47, 66] + [99] * 38
# How many codes there are of 1 to 16 bits, and their symbols: one table for DC, one for AC, both for all three components.
DC = ([0, 1, 5, 1, 1, 1, 1, 1, 1] + [0] * 7, list(range(12)))
AC = ([0, 2, 1, 3, 3, 2, 4, 3, 5, 5, 4, 4, 0, 0, 1, 125], bytes.fromhex(
    "01020300041105122131410613516107227114328191a1082342b1c11552d1f02433627282090a161718191a25262728292a3435363738393a434445"
    "464748494a535455565758595a636465666768696a737475767778797a838485868788898a92939495969798999aa2a3a4a5a6a7a8a9aab2b3b4b5b6"
    "b7b8b9bac2c3c4c5c6c7c8c9cad2d3d4d5d6d7d8d9dae1e2e3e4e5e6e7e8e9eaf1f2f3f4f5f6f7f8f9fa"))
COSINES = [[math.cos((2 * x + 1) * u * math.pi / 16) / 2 * (math.sqrt(0.5) if u == 0 else 1) for x in range(8)] for u in range(8)]


def codes(table):
    """The (code, bits) of each symbol."""
    result, code, symbols = {}, 0, iter(table[1])
    for bits, count in enumerate(table[0], 1):
        for _ in range(count):
            result[next(symbols)] = (code, bits)
            code += 1
        code <<= 1
    return result


DC_CODES, AC_CODES = codes(DC), codes(AC)


def transform(block):
    """The cosine transform of 8 x 8 values."""
    rows = [[sum(a * b for a, b in zip(cosine, block[y])) for cosine in COSINES] for y in range(8)]
    columns = list(zip(*rows))
    return [sum(a * b for a, b in zip(COSINES[v], columns[u])) for v in range(8) for u in range(8)]


class Bits:
    def __init__(self):
        self.out, self.pending, self.count = bytearray(), 0, 0

    def put(self, value, bits):
        self.pending, self.count = self.pending << bits | value, self.count + bits
        while self.count >= 8:
            self.count -= 8
            byte = self.pending >> self.count & 255
            self.out.append(byte)
            if byte == 255:
                self.out.append(0)
        self.pending &= (1 << self.count) - 1

    def put_number(self, value, code, zeros=0):
        size = abs(value).bit_length()
        self.put(*code[zeros << 4 | size])
        if size:
            self.put(value if value > 0 else value + (1 << size) - 1, size)

    def end(self):
        self.put(127, 7)
        return bytes(self.out)


def put_block(bits, coefficients, before):
    """Coefficients in zigzag order; `before` is the component's last DC."""
    bits.put_number(coefficients[0] - before, DC_CODES)
    zeros = 0
    for value in coefficients[1:]:
        if value == 0:
            zeros += 1
            continue
        while zeros > 15:
            bits.put(*AC_CODES[0xF0])
            zeros -= 16
        bits.put_number(value, AC_CODES, zeros)
        zeros = 0
    if zeros:
        bits.put(*AC_CODES[0])
    return coefficients[0]


def segment(marker, body):
    return struct.pack(">BBH", 255, marker, len(body) + 2) + body


def encode(rows, quality=85):
    """The bytes of a JPEG file. `rows`: rows of (red, green, blue), each 0 to 255."""
    height, width = len(rows), len(rows[0])
    scale = 50 / quality if quality < 50 else 2 - quality / 50
    tables = [[min(max(int(entry * scale + 0.5), 1), 255) for entry in table] for table in (LIGHT, COLOUR)]
    planes = [[[weights[0] * r + weights[1] * g + weights[2] * b for r, g, b in row] for row in rows]
              for weights in ((0.299, 0.587, 0.114), (-0.168736, -0.331264, 0.5), (0.5, -0.418688, -0.081312))]
    bits, last = Bits(), [0, 0, 0]
    for top in range(0, height, 8):
        for left in range(0, width, 8):
            for component, plane in enumerate(planes):
                shift, table = (128, tables[0]) if component == 0 else (0, tables[1])
                block = [[plane[min(top + y, height - 1)][min(left + x, width - 1)] - shift for x in range(8)] for y in range(8)]
                values = transform(block)
                last[component] = put_block(bits, [round(values[i] / table[i]) for i in ZIGZAG], last[component])
    frame = struct.pack(">BHHB", 8, height, width, 3) + bytes([1, 0x11, 0, 2, 0x11, 1, 3, 0x11, 1])
    return (b"\xff\xd8" + b"".join(segment(0xDB, bytes([i, *(table[j] for j in ZIGZAG)])) for i, table in enumerate(tables))
            + segment(0xC0, frame) + segment(0xC4, bytes([0x00, *DC[0], *DC[1]])) + segment(0xC4, bytes([0x10, *AC[0], *AC[1]]))
            + segment(0xDA, bytes([3, 1, 0, 2, 0, 3, 0, 0, 63, 0])) + bits.end() + b"\xff\xd9")
