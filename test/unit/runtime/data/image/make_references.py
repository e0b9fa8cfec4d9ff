"""Makes references.npz: small pictures as files, decoded by Pillow; a picture in [0, 1], resized by PyTorch and TensorFlow and adjusted by
torchvision's color operations; and a TFRecord file.

Needs numpy, pillow, torch, torchvision and tensorflow-cpu (made with 2.4.6, 13.0.0, 2.15.0, 0.29.2 and 2.21.0); run it from
anywhere:
    python make_references.py
"""
import io
import os
import struct
import tempfile
import zlib

os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="")
import numpy as np
import torch  # before TensorFlow: both bring LLVM
import torchvision.transforms.v2.functional as adjust
import tensorflow as tf
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
HEIGHT, WIDTH = 29, 37
SIZES = [(13, 18), (7, 9), (4, 3), (24, 30), (24, 10)]


def photograph(random, height, width):
    """Smooth values with noise."""
    coarse = Image.fromarray(random.integers(0, 256, (6, 7, 3), dtype=np.uint8)).resize((width, height), Image.BICUBIC)
    noisy = np.asarray(coarse).astype(np.int16) + random.integers(-12, 13, (height, width, 1))
    return np.clip(noisy, 0, 255).astype(np.uint8)


def save(picture, kind, **options):
    out = io.BytesIO()
    picture.save(out, kind, **options)
    return out.getvalue()


def png(pixels, color_type, bits=8, interlaced=False):
    """A PNG file with 16 bits per color or interlaced, which Pillow does not write."""
    def chunk(name, body):
        return struct.pack(">I", len(body)) + name + body + struct.pack(">I", zlib.crc32(name + body))

    passes = [(0, 0, 8, 8), (0, 4, 8, 8), (4, 0, 8, 4), (0, 2, 4, 4), (2, 0, 4, 2), (0, 1, 2, 2), (1, 0, 2, 1)]
    rows = b""
    for y, x, down, across in passes if interlaced else [(0, 0, 1, 1)]:
        for row in pixels[y::down, x::across]:
            if row.size:
                rows += b"\0" + row.astype(">u2" if bits == 16 else "u1").tobytes()
    height, width = pixels.shape[:2]
    header = struct.pack(">IIBBBBB", width, height, bits, color_type, 0, 0, interlaced)
    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(rows, 9)) + chunk(b"IEND", b""))


def jpegs(random):
    rgb = Image.fromarray(photograph(random, HEIGHT, WIDTH))
    turned = Image.Exif()
    turned[0x0112] = 6
    files = {f"jpeg-{name}": save(rgb, "JPEG", quality=quality, **options) for name, quality, options in [
        ("444", 90, {"subsampling": 0}), ("422", 85, {"subsampling": 1}), ("420", 80, {"subsampling": 2}),
        ("progressive", 88, {"progressive": True}), ("exif", 80, {"exif": turned})]}
    files["jpeg-gray"] = save(rgb.convert("L"), "JPEG", quality=85)
    pixels = {name: np.asarray(Image.open(io.BytesIO(file)).convert("RGB")) for name, file in files.items()}
    files["jpeg-cmyk"] = save(rgb.convert("CMYK"), "JPEG", quality=90)
    pixels["jpeg-cmyk"] = tf.io.decode_jpeg(files["jpeg-cmyk"], 3, dct_method="INTEGER_ACCURATE").numpy()
    return files, pixels


def pngs(random):
    rgb = photograph(random, HEIGHT, WIDTH)
    alpha = random.integers(0, 256, (HEIGHT, WIDTH, 1), dtype=np.uint8)
    deep = random.integers(0, 65536, (HEIGHT, WIDTH, 3), dtype=np.uint16)
    picture = Image.fromarray(rgb)
    palette = picture.quantize(16)
    files = {
        "png-rgb": save(picture, "PNG"), "png-gray": save(picture.convert("L"), "PNG"),
        "png-bits": save(picture.convert("1"), "PNG"), "png-palette": save(palette, "PNG"),
        "png-transparent": save(palette, "PNG", transparency=bytes(range(0, 256, 17))),
        "png-gray-alpha": save(Image.fromarray(np.concatenate([rgb[:, :, :1], alpha], 2), "LA"), "PNG"),
        "png-rgba": save(Image.fromarray(np.concatenate([rgb, alpha], 2)), "PNG"),
        "png-interlaced": png(rgb, 2, interlaced=True), "png-16": png(deep, 2, bits=16),
    }
    pixels = {name: np.asarray(Image.open(io.BytesIO(file)).convert("RGB")) for name, file in files.items()}
    for name in ("png-transparent", "png-rgba"):
        pixels[name + "-rgba"] = np.asarray(Image.open(io.BytesIO(files[name])).convert("RGBA"))
    pixels["png-rgb-gray"] = np.asarray(picture.convert("L"))[:, :, None]
    pixels["png-16"] = np.round(deep / 257).astype(np.uint8)
    return files, pixels


def resized(picture):
    planes = torch.from_numpy(picture.transpose(2, 0, 1)[None].copy())
    out = {}
    for height, width in SIZES:
        size = f"{height}x{width}"
        for antialias in (True, False):
            name = "triangle" if antialias else "bilinear"
            ours = torch.nn.functional.interpolate(planes, (height, width), mode="bilinear", antialias=antialias)
            out[f"torch-{name}-{size}"] = ours[0].numpy().transpose(1, 2, 0).copy()
            out[f"tf-{name}-{size}"] = tf.image.resize(picture, (height, width), antialias=antialias).numpy()
        cubic = torch.nn.functional.interpolate(planes, (height, width), mode="bicubic", antialias=True)
        out[f"torch-cubic-{size}"] = cubic[0].numpy().transpose(1, 2, 0).copy()
        for antialias in (True, False):
            name = "cubic" if antialias else "narrow-cubic"
            out[f"tf-{name}-{size}"] = tf.image.resize(picture, (height, width), method="bicubic", antialias=antialias).numpy()
        out[f"tf-area-{size}"] = tf.image.resize(picture, (height, width), method="area").numpy()
        nearest = torch.nn.functional.interpolate(planes, (height, width), mode="nearest-exact")
        out[f"torch-nearest-{size}"] = nearest[0].numpy().transpose(1, 2, 0).copy()
    return out


def adjusted(picture):
    planes = torch.from_numpy(picture.transpose(2, 0, 1).copy())
    made = {"brightness": adjust.adjust_brightness(planes, 1.3), "contrast": adjust.adjust_contrast(planes, 0.6),
            "saturation": adjust.adjust_saturation(planes, 1.7), "hue": adjust.adjust_hue(planes, 0.1)}
    return {f"adjust-{name}": value.numpy().transpose(1, 2, 0).copy() for name, value in made.items()}


def records():
    """A TFRecord file with two examples."""
    feature = tf.train.Feature
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "two.tfrecord")
        with tf.io.TFRecordWriter(path) as writer:
            for i in range(2):
                features = {"image": feature(bytes_list=tf.train.BytesList(value=[b"pixels %d" % i])),
                            "box": feature(float_list=tf.train.FloatList(value=[i + 0.5, -2, 1e30])),
                            "label": feature(int64_list=tf.train.Int64List(value=[i - 1, 1 << 40]))}
                writer.write(tf.train.Example(features=tf.train.Features(feature=features)).SerializeToString())
        with open(path, "rb") as file:
            return file.read()


def main():
    random = np.random.default_rng(5)
    arrays = {}
    for files, pixels in (jpegs(random), pngs(random)):
        arrays |= {f"file-{name}": np.frombuffer(file, np.uint8) for name, file in files.items()}
        arrays |= {f"pixels-{name}": array for name, array in pixels.items()}
    picture = random.random((15, 21, 3), dtype=np.float32)
    arrays |= {"picture": picture} | resized(picture) | adjusted(picture)
    arrays["tfrecord"] = np.frombuffer(records(), np.uint8)
    np.savez_compressed(os.path.join(HERE, "references.npz"), **arrays)


if __name__ == "__main__":
    main()
