"""Input pipelines on 2,000 JPEGs: decode 256x256, resize to 224x224 (antialiased), normalize, batches of 64.

    pipeline.py --peer tf|tf_cache|torchvision|pillow [--threads 2]
    pipeline.py --compare FILE      the largest difference, in [0, 1], of f32 pictures in the file from Pillow's decoding and
                                    PyTorch's antialiased resizing
    pipeline.py --make              the folder with the pictures

One JSON line: images a second in each of three epochs (files read from disk in the first), and memory. The pictures are
made once, in the folder of temporary files.
"""
import argparse
import json
import os
import resource
import tempfile
import time

import numpy as np

FOLDER, COUNT, BATCH = os.path.join(tempfile.gettempdir(), "gradc-peers-jpeg"), 2000, 64
MEAN, DEVIATION = np.array([0.485, 0.456, 0.406], np.float32), np.array([0.229, 0.224, 0.225], np.float32)


def make_pictures():
    """Smooth random fields with some noise: about 20 KB each, like photographs."""
    from PIL import Image

    done = os.path.join(FOLDER, "done")
    files = [os.path.join(FOLDER, f"{i:05d}.jpg") for i in range(COUNT)]
    if not os.path.exists(done):
        os.makedirs(FOLDER, exist_ok=True)
        random = np.random.default_rng(3)
        for path in files:
            smooth = Image.fromarray(random.integers(0, 256, (16, 16, 3), dtype=np.uint8)).resize((256, 256), Image.BICUBIC)
            noisy = np.asarray(smooth).astype(np.int16) + random.integers(-12, 13, (256, 256, 1))
            Image.fromarray(np.clip(noisy, 0, 255).astype(np.uint8)).save(path, quality=88)
        open(done, "w").close()
    return files, [i % 10 for i in range(COUNT)]


def tensorflow_epochs(files, labels, threads, caches):
    import tensorflow as tf

    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)

    def load(path, label):
        picture = tf.image.resize(tf.io.decode_jpeg(tf.io.read_file(path), 3), (224, 224), antialias=True)
        return (picture / 255.0 - MEAN) / DEVIATION, label

    data = tf.data.Dataset.from_tensor_slices((files, labels)).map(load, num_parallel_calls=tf.data.AUTOTUNE)
    return (data.cache() if caches else data).batch(BATCH).prefetch(tf.data.AUTOTUNE)


def torch_epochs(files, labels, threads, load):
    import torch

    torch.set_num_threads(1)

    class Pictures(torch.utils.data.Dataset):
        def __len__(self):
            return len(files)

        def __getitem__(self, i):
            return load(files[i]), labels[i]

    return torch.utils.data.DataLoader(Pictures(), BATCH, num_workers=threads, persistent_workers=True, prefetch_factor=4)


def torchvision_load(path):
    import torchvision.transforms.v2.functional as functional
    from torchvision.io import read_image

    picture = functional.resize(read_image(path), [224, 224], antialias=True).float() / 255
    return functional.normalize(picture, MEAN.tolist(), DEVIATION.tolist())


def pillow_load(path):
    import torch
    from PIL import Image

    pixels = np.asarray(Image.open(path).convert("RGB").resize((224, 224), Image.BILINEAR), np.float32)
    return torch.from_numpy(np.ascontiguousarray(((pixels / 255 - MEAN) / DEVIATION).transpose(2, 0, 1)))


def forget_files(files):
    """Evicts the files from the page cache."""
    os.sync()
    for path in files:
        with open(path) as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def difference(files, path):
    import torch
    from PIL import Image

    batch = np.fromfile(path, np.float32).reshape(-1, 3, 224, 224)
    worst = 0.0
    for file, picture in zip(files, batch):
        pixels = torch.from_numpy(np.array(Image.open(file).convert("RGB")).transpose(2, 0, 1)[None].astype(np.float32))
        resized = torch.nn.functional.interpolate(pixels, (224, 224), mode="bilinear", antialias=True)[0].numpy() / 255
        ours = picture * DEVIATION[:, None, None] + MEAN[:, None, None]
        worst = max(worst, float(np.abs(resized - ours).max()))
    return {"pictures": len(batch), "difference": worst}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--peer", choices=["tf", "tf_cache", "torchvision", "pillow"])
    parser.add_argument("--compare", metavar="FILE")
    parser.add_argument("--make", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    a = parser.parse_args()
    if a.threads == 1:
        os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    os.environ.update(TF_CPP_MIN_LOG_LEVEL="3", CUDA_VISIBLE_DEVICES="", OMP_NUM_THREADS="1")
    files, labels = make_pictures()
    if a.make:
        print(json.dumps({"folder": FOLDER, "files": [os.path.basename(file) for file in files], "labels": labels}))
        return
    if a.compare:
        print(json.dumps(difference(files, a.compare)))
        return
    if not a.peer:
        parser.error("expected --peer, --compare or --make")
    if a.peer.startswith("tf"):
        data = tensorflow_epochs(files, labels, a.threads, a.peer == "tf_cache")
    else:
        data = torch_epochs(files, labels, a.threads, torchvision_load if a.peer == "torchvision" else pillow_load)
    forget_files(files)
    rates = []
    for _ in range(3):
        began = time.perf_counter()
        count = sum(int(pictures.shape[0]) for pictures, _ in data)
        rates.append(round(count / (time.perf_counter() - began), 1))
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024
    print(json.dumps({"peer": a.peer, "threads": a.threads, "images_per_s": rates, "rss_mb": memory}), flush=True)
    os._exit(0)  # the libraries' threads need not be waited for


if __name__ == "__main__":
    main()
