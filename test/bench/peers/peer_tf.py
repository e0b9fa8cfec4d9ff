"""TensorFlow: `tf` (tf.function) and `tf_xla` (jit_compile). NHWC."""
import math

import numpy as np
import tensorflow as tf

import channels_last
from optimizers import SLOTS, update
from steps import Steps, mean_square
from workloads import BATCHES


class Operations:
    relu = tf.nn.relu
    reshape = tf.reshape
    sqrt = tf.sqrt  # for the update rules

    def gelu(x):
        return tf.nn.gelu(x, approximate=False)

    def dense(x, w, b):
        rows = tf.reshape(x, (-1, x.shape[-1])) if len(x.shape) > 2 else x
        y = tf.nn.bias_add(rows @ w, b)
        return tf.reshape(y, (*x.shape[:-1], w.shape[-1])) if len(x.shape) > 2 else y

    def conv(x, w, b, stride, padding, groups=1):
        pads = [[0, 0], [padding, padding], [padding, padding], [0, 0]]
        same = stride == 1 and 2 * padding + 1 == w.shape[0]
        if groups > 1:  # depthwise; the weight is HW1C
            x = x if same else tf.pad(x, pads)
            y = tf.nn.depthwise_conv2d(x, tf.transpose(w, (0, 1, 3, 2)), (1, stride, stride, 1), "SAME" if same else "VALID")
        else:
            y = tf.nn.conv2d(x, w, stride, "SAME" if same else pads if padding else "VALID")
        return y if b is None else tf.nn.bias_add(y, b)

    def maxpool(x, size, stride, padding):
        if padding:  # of zeros: the inputs are behind a ReLU
            x = tf.pad(x, ((0, 0), (padding, padding), (padding, padding), (0, 0)))
        return tf.nn.max_pool2d(x, size, stride, "VALID")

    def batchnorm(x, p, s, name, training):
        norm = tf.compat.v1.nn.fused_batch_norm
        scale, offset, mean, variance = p[f"{name}_g"], p[f"{name}_b"], s[f"{name}_rm"], s[f"{name}_rv"]
        if not training:
            return norm(x, scale, offset, mean, variance, 1e-5, is_training=False)[0]
        y, batch_mean, batch_variance = norm(x, scale, offset, epsilon=1e-5, is_training=True)
        mean.assign(0.9 * mean + 0.1 * batch_mean)
        variance.assign(0.9 * variance + 0.1 * batch_variance)
        return y

    def mean_pixels(x):
        return tf.reduce_mean(x, (1, 2))

    def flatten(x):
        return tf.reshape(x, (x.shape[0], -1))

    def layernorm(x, g, b):
        mean, variance = tf.nn.moments(x, -1, keepdims=True)
        return (x - mean) * (tf.math.rsqrt(variance + 1e-5) * g) + b

    def embed(w, i):
        return tf.gather(w, i)

    def unembed(x, w):
        logits = tf.matmul(tf.reshape(x, (-1, x.shape[-1])), w, transpose_b=True)
        return tf.reshape(logits, (*x.shape[:-1], w.shape[0]))

    def split3(x):
        return tf.split(x, 3, -1)

    def swap12(x):
        return tf.transpose(x, (0, 2, 1, 3))

    def attention(q, k, v, causal):
        scores = tf.matmul(q, k, transpose_b=True) * (1 / math.sqrt(q.shape[-1]))
        if causal:
            scores = scores + tf.constant(np.triu(np.full(scores.shape[-2:], -1e9, np.float32), 1))
        return tf.matmul(tf.nn.softmax(scores), v)


def make_step(workload, weights, statistics, compiled):
    rule, t = workload.optimizer, tf.Variable(0.0)
    slots = {name: [tf.Variable(tf.zeros_like(w)) for _ in range(SLOTS[rule["name"]])] for name, w in weights.items()}

    @tf.function(jit_compile=compiled)
    def step(x, labels):
        with tf.GradientTape() as tape:
            logits = workload.forward(Operations, weights, statistics, x, True)
            losses = tf.nn.sparse_softmax_cross_entropy_with_logits(tf.reshape(labels, [-1]),
                                                                    tf.reshape(logits, (-1, logits.shape[-1])))
            loss = tf.reduce_mean(losses)
        gradients = {name: tf.convert_to_tensor(g) for name, g in tape.gradient(loss, weights).items()}
        if workload.clip:
            norm = tf.sqrt(tf.add_n([tf.reduce_sum(g * g) for g in gradients.values()]))
            scale = tf.minimum(1.0, workload.clip / (norm + 1e-6))
            gradients = {name: g * scale for name, g in gradients.items()}
        now = t.assign_add(1.0)
        for name, w in weights.items():
            value, new = update(Operations, rule, w, gradients[name], slots[name], now)
            w.assign(value)
            for slot, array in zip(slots[name], new):
                slot.assign(array)
        return loss

    return step


def setup(peer, workload, threads, cache):
    tf.config.threading.set_intra_op_parallelism_threads(threads)
    tf.config.threading.set_inter_op_parallelism_threads(threads)
    compiled = True if peer == "tf_xla" else None
    trained, statistics = workload.weights()
    weights = {name: tf.Variable(channels_last.weight(*value)) for name, value in trained.items()}
    statistics = {name: tf.Variable(array) for name, (_, array) in statistics.items()}
    x, labels = workload.batches()
    x = [tf.constant(channels_last.batch(workload, batch)) for batch in x]

    if not workload.training:
        infer = tf.function(lambda x: workload.forward(Operations, weights, statistics, x, False), jit_compile=compiled)
        return Steps(lambda i: infer(x[i % BATCHES]), lambda y: mean_square(y.numpy()), lambda y: y.numpy())
    labels = [tf.constant(batch) for batch in labels]
    step = make_step(workload, weights, statistics, compiled)
    return Steps(lambda i: step(x[i % BATCHES], labels[i % BATCHES]), lambda loss: [float(loss)], lambda loss: loss.numpy())
