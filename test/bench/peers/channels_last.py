"""Weights and pictures in the layouts of JAX and TensorFlow: NHWC, HWIO."""
import numpy as np


def weight(kind, array):
    if kind == "conv":
        return array.transpose(2, 3, 1, 0).copy()
    if kind.startswith("flat"):  # the rows in the order in which NHWC flattens
        channels, height, width = map(int, kind[4:].split("x"))
        rows = array.reshape(channels, height, width, -1).transpose(1, 2, 0, 3)
        return rows.reshape(channels * height * width, -1).copy()
    return array


def batch(workload, x):
    return np.ascontiguousarray(x.transpose(0, 2, 3, 1)) if workload.data == "pictures" else x
