"""Makes the stored references of losses and metrics: a small model with several outputs and forty rows of data. For each loss of a spec,
the losses of five steps of gradient descent and of an evaluation after them, computed by PyTorch in f64; for each metric its value,
computed by numpy.

Needs torch, numpy and onnx (made with 2.15, 2.4 and 1.23): python make_objectives.py
"""
import json
import os

import numpy as np
import onnx
import torch
import torch.nn.functional as F
from onnx import TensorProto, helper, numpy_helper

HERE = os.path.dirname(os.path.abspath(__file__))
ROWS, BATCH, STEPS, RATE = 40, 16, 5, 0.2
CLASSES = 4
random = np.random.default_rng(3)


def normal(*shape):
    return random.standard_normal(shape).astype(np.float32)


X = normal(ROWS, 6)
LABELS = random.integers(0, CLASSES, ROWS)
DATA = {
    "x": X,
    "labels": LABELS,
    "ignoring": np.where(random.random(ROWS) < 0.3, -100, LABELS),
    "pixels": random.integers(0, CLASSES, (ROWS, 3)),
    "ignoring_pixels": np.where(random.random((ROWS, 3)) < 0.4, 255, random.integers(0, CLASSES, (ROWS, 3))),
    "binary": (random.random((ROWS, 1)) < 0.4).astype(np.float32),
    "signs": np.where(random.random(ROWS) < 0.5, 1, -1),
    "real": normal(ROWS, 1) * 2 + 3,
    "distribution": random.dirichlet(np.ones(CLASSES), ROWS).astype(np.float32),
    "vector": normal(ROWS, 5),
    "weights": random.random(ROWS).astype(np.float32),
    "pixel_weights": random.random((ROWS, 3)).astype(np.float32),
}
DATA["distribution"][3] = [0, 1, 0, 0]
STEPS_OF_ROW, SYMBOLS = 8, 5
DATA["speech"] = random.integers(1, SYMBOLS, (ROWS, 3))
DATA["speech"][2] = DATA["speech"][2, 0]  # the same label again and again
DATA["speech_lengths"] = random.integers(0, 4, ROWS)
DATA["step_lengths"] = random.integers(6, STEPS_OF_ROW + 1, ROWS)
SHAPES = {"logits": CLASSES, "score": 1, "anchor": 5, "positive": 5, "negative": 5, "image": 3 * CLASSES, "sound": STEPS_OF_ROW * SYMBOLS}
RESHAPED = {"image": [3, CLASSES], "sound": [STEPS_OF_ROW, SYMBOLS]}
MASK = [1, 5]  # "anchor" as a picture of one channel: a score for each pixel
WEIGHTS = {name: normal(6, size) * 0.7 for name, size in SHAPES.items()}
BIASES = {name: normal(size) * 0.1 for name, size in SHAPES.items()}


def save_model():
    nodes, initializers, outputs = [], [], []
    for name, size in SHAPES.items():
        initializers += [numpy_helper.from_array(WEIGHTS[name], f"{name}.weight"), numpy_helper.from_array(BIASES[name], f"{name}.bias")]
        result = f"flat.{name}" if name in RESHAPED else name
        nodes.append(helper.make_node("Gemm", ["x", f"{name}.weight", f"{name}.bias"], [result], f"{name}.fc"))
        outputs.append(helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"] + RESHAPED.get(name, [size])))
    for name, shape in RESHAPED.items():
        initializers.append(numpy_helper.from_array(np.array([0] + shape, np.int64), f"{name}.shape"))
        nodes.append(helper.make_node("Reshape", [f"flat.{name}", f"{name}.shape"], [name], f"{name}.reshape"))
    initializers.append(numpy_helper.from_array(np.array([0] + MASK, np.int64), "mask.shape"))
    nodes.append(helper.make_node("Reshape", ["anchor", "mask.shape"], ["mask"], "mask.reshape"))
    outputs.append(helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["N"] + MASK))
    nodes.append(helper.make_node("Transpose", ["image"], ["channels"], "channels.transpose", perm=[0, 2, 1]))
    outputs.append(helper.make_tensor_value_info("channels", TensorProto.FLOAT, ["N", CLASSES, 3]))
    initializers.append(numpy_helper.from_array(np.array([0, 1, 1, 5], np.int64), "map.shape"))
    nodes.append(helper.make_node("Reshape", ["positive", "map.shape"], ["map"], "map.reshape"))
    outputs.append(helper.make_tensor_value_info("map", TensorProto.FLOAT, ["N", 1, 1, 5]))
    nodes.append(helper.make_node("ReduceMean", ["score"], ["mean"], "mean", keepdims=0))
    outputs.append(helper.make_tensor_value_info("mean", TensorProto.FLOAT, []))
    graph = helper.make_graph(nodes, "objectives", [helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 6])], outputs, initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=8)
    onnx.checker.check_model(model)
    onnx.save(model, os.path.join(HERE, "objectives.onnx"))


class Model:
    def __init__(self):
        self.weights = {n: torch.tensor(w, dtype=torch.float64, requires_grad=True) for n, w in WEIGHTS.items()}
        self.biases = {n: torch.tensor(b, dtype=torch.float64, requires_grad=True) for n, b in BIASES.items()}

    def parameters(self):
        return list(self.weights.values()) + list(self.biases.values())

    def __call__(self, x):
        out = {n: x @ self.weights[n] + self.biases[n] for n in SHAPES}
        out = {n: value.reshape([-1] + RESHAPED.get(n, [SHAPES[n]])) for n, value in out.items()}
        return out | {"mask": out["anchor"].reshape([-1] + MASK), "channels": out["image"].transpose(1, 2)}


def batch(begin, end):
    rows = {}
    for name, array in DATA.items():
        part = torch.tensor(array[begin:end])
        rows[name] = part.double() if part.is_floating_point() else part.long()
    return rows


def weighted(losses, weights):
    return (losses * weights).sum() / weights.sum()


def cross_entropy(logits="logits", labels="labels", **options):
    def loss(out, data, model):
        scores = out[logits]
        return F.cross_entropy(scores.transpose(1, 2) if scores.dim() == 3 else scores, data[labels], **options)

    return loss


def focal(out, data, model):
    x, y = out["score"], data["binary"]
    p = torch.sigmoid(x)
    wrong = 1 - (p * y + (1 - p) * (1 - y))
    return (F.binary_cross_entropy_with_logits(x, y, reduction="none") * wrong**2 * (0.25 * y + 0.75 * (1 - y))).mean()


def hinge(out, data, model):
    """Of "mask", whose positives are those above 0."""
    signs = torch.where(data["vector"] > 0, 1.0, -1.0)[:, None]
    return torch.clamp(1 - signs * out["mask"], min=0).mean()


def softmax_focal(out, data, model):
    ce = F.cross_entropy(out["logits"], data["labels"], reduction="none")
    return ((1 - torch.exp(-ce)) ** 1.5 * ce).mean()


def ctc(out, labels, label_lengths, step_lengths):
    return F.ctc_loss(F.log_softmax(out["sound"], 2).transpose(0, 1), labels, step_lengths, label_lengths)


def regularized(out, data, model):
    loss = cross_entropy()(out, data, model)
    if out["logits"].requires_grad and model.training:
        w, b = model.weights["logits"], model.biases["logits"]
        loss = loss + 0.01 * w.abs().sum() + 0.02 * (w**2).sum() + 0.03 * (b**2).sum()
    return loss


WEIGHT = [0.5, 1.0, 2.0, 0.25]
TENSOR = torch.tensor(WEIGHT, dtype=torch.float64)
CE = 'softmax_cross_entropy { logits: "logits" labels: "labels" %s }'
LOSSES = {
    "cross-entropy": (f"loss {{ {CE % ''} }}", cross_entropy()),
    "label-smoothing": (f"loss {{ {CE % 'label_smoothing: 0.1'} }}", cross_entropy(label_smoothing=0.1)),
    "class-weights": (f"loss {{ {CE % f'class_weight: {WEIGHT}'} }}", cross_entropy(weight=TENSOR)),
    "smooth-class-weights": (f"loss {{ {CE % f'class_weight: {WEIGHT} label_smoothing: 0.2'} }}", cross_entropy(weight=TENSOR, label_smoothing=0.2)),
    "ignore-index": ('loss { softmax_cross_entropy { logits: "logits" labels: "ignoring" ignore_index: -100 } }', cross_entropy(labels="ignoring")),
    "all-options": (f'loss {{ softmax_cross_entropy {{ logits: "logits" labels: "ignoring" ignore_index: -100 class_weight: {WEIGHT} label_smoothing: 0.3 }} }}',
                    cross_entropy(labels="ignoring", weight=TENSOR, label_smoothing=0.3)),
    "pixels": ('loss { softmax_cross_entropy { logits: "image" labels: "ignoring_pixels" ignore_index: 255 } }',
               cross_entropy("image", "ignoring_pixels", ignore_index=255)),
    "channels": ('loss { softmax_cross_entropy { logits: "channels" labels: "ignoring_pixels" ignore_index: 255 } }',
                 cross_entropy("image", "ignoring_pixels", ignore_index=255)),
    "distribution": (f'loss {{ softmax_cross_entropy {{ logits: "logits" labels: "distribution" class_weight: {WEIGHT} label_smoothing: 0.1 }} }}',
                     cross_entropy(labels="distribution", weight=TENSOR, label_smoothing=0.1)),
    "sample-weights": (f'loss {{ {CE % ""} sample_weights: "weights" }}',
                       lambda out, data, model: weighted(F.cross_entropy(out["logits"], data["labels"], reduction="none"), data["weights"])),
    "pixel-weights": ('loss { softmax_cross_entropy { logits: "image" labels: "pixels" } sample_weights: "pixel_weights" }',
                      lambda out, data, model: weighted(F.cross_entropy(out["image"].transpose(1, 2), data["pixels"], reduction="none"), data["pixel_weights"])),
    "row-weights-of-pixels": ('loss { softmax_cross_entropy { logits: "image" labels: "pixels" } sample_weights: "weights" }',
                              lambda out, data, model: weighted(F.cross_entropy(out["image"].transpose(1, 2), data["pixels"], reduction="none"),
                                                                data["weights"][:, None].expand(-1, 3))),
    "binary": ('loss { binary_cross_entropy { logits: "score" targets: "binary" positive_weight: 3 } }',
               lambda out, data, model: F.binary_cross_entropy_with_logits(out["score"], data["binary"], pos_weight=torch.tensor(3.0))),
    "binary-weights": ('loss { binary_cross_entropy { logits: "score" targets: "binary" } sample_weights: "weights" }',
                       lambda out, data, model: weighted(F.binary_cross_entropy_with_logits(out["score"], data["binary"], reduction="none")[:, 0], data["weights"])),
    "focal": ('loss { focal { logits: "score" targets: "binary" alpha: 0.25 } }', focal),
    "softmax-focal": ('loss { focal { logits: "logits" labels: "labels" gamma: 1.5 } }', softmax_focal),
    "squared": ('loss { mean_squared_error { predictions: "score" targets: "real" } }', lambda out, data, model: F.mse_loss(out["score"], data["real"])),
    "absolute": ('loss { mean_absolute_error { predictions: "score" targets: "real" } }', lambda out, data, model: F.l1_loss(out["score"], data["real"])),
    "huber": ('loss { huber { predictions: "score" targets: "real" delta: 1.5 } }', lambda out, data, model: F.huber_loss(out["score"], data["real"], delta=1.5)),
    "smooth-l1": ('loss { huber { predictions: "score" targets: "real" delta: 0.5 } weight: 2 }',
                  lambda out, data, model: F.smooth_l1_loss(out["score"], data["real"], beta=0.5)),
    "kl": ('loss { kl_divergence { logits: "logits" targets: "distribution" } }',
           lambda out, data, model: F.kl_div(F.log_softmax(out["logits"], 1), data["distribution"], reduction="batchmean")),
    "hinge": ('loss { hinge { logits: "score" targets: "binary" } }',
              lambda out, data, model: torch.relu(1 - (2 * data["binary"] - 1) * out["score"]).mean()),
    "multi-margin": ('loss { hinge { logits: "logits" labels: "labels" margin: 0.7 } }',
                     lambda out, data, model: F.multi_margin_loss(out["logits"], data["labels"], margin=0.7)),
    "cosine": ('loss { cosine { predictions: "anchor" other: "positive" similar: "signs" margin: 0.1 } }',
               lambda out, data, model: F.cosine_embedding_loss(out["anchor"], out["positive"], data["signs"], margin=0.1)),
    "cosine-targets": ('loss { cosine { predictions: "anchor" targets: "vector" } }',
                       lambda out, data, model: F.cosine_embedding_loss(out["anchor"], data["vector"], torch.ones(len(data["x"])))),
    "triplet": ('loss { triplet { anchor: "anchor" positive: "positive" negative: "negative" margin: 2 } }',
                lambda out, data, model: F.triplet_margin_loss(out["anchor"], out["positive"], out["negative"], margin=2)),
    "ctc": ('loss { ctc { logits: "sound" labels: "speech" label_lengths: "speech_lengths" logit_lengths: "step_lengths" } }',
            lambda out, data, model: ctc(out, data["speech"], data["speech_lengths"], data["step_lengths"])),
    "ctc-whole": ('loss { ctc { logits: "sound" labels: "speech" } }',
                  lambda out, data, model: ctc(out, data["speech"], torch.full([len(data["x"])], 3), torch.full([len(data["x"])], STEPS_OF_ROW))),
    "several": (f'loss {{ {CE % ""} weight: 0.5 sample_weights: "weights" }} loss {{ mean_squared_error {{ predictions: "score" targets: "real" }} weight: 0.1 }}',
                lambda out, data, model: 0.5 * weighted(F.cross_entropy(out["logits"], data["labels"], reduction="none"), data["weights"])
                + 0.1 * F.mse_loss(out["score"], data["real"])),
    "regularizers": (f'loss {{ {CE % ""} }} regularizer {{ pattern: "logits.weight" l1: 0.01 l2: 0.02 }} regularizer {{ pattern: "*.bias" l2: 0.03 }}', regularized),
}


def train(loss):
    model, losses = Model(), []
    for begin in [0, 16, 32, 0, 16]:
        rows = batch(begin, min(begin + BATCH, ROWS))
        model.training = True
        value = loss(model(rows["x"]), rows, model)
        gradients = torch.autograd.grad(value, model.parameters(), allow_unused=True)
        losses.append(value.item())
        with torch.no_grad():
            for parameter, gradient in zip(model.parameters(), gradients):
                if gradient is not None:
                    parameter -= RATE * gradient
    model.training = False
    rows = batch(0, ROWS)
    with torch.no_grad():
        return model, losses, loss(model(rows["x"]), rows, model).item()


def by_class(scores, labels):
    best = scores.argmax(-1)
    right = np.array([((best == c) & (labels == c)).sum() for c in range(scores.shape[-1])], float)
    taken = np.array([(best == c).sum() for c in range(scores.shape[-1])], float)
    wanted = np.array([(labels == c).sum() for c in range(scores.shape[-1])], float)
    return right, taken, wanted


def over(a, b):
    return np.divide(a, b, out=np.zeros_like(a), where=b != 0)


def area(scores, labels):
    """The share of correctly ordered pairs, where ties count half: directly from the definition."""
    difference = scores[labels > 0.5][:, None] - scores[labels <= 0.5][None, :]
    return float(((difference > 0) + 0.5 * (difference == 0)).mean())


def over_classes(logs, labels):
    """The mean over classes of the area of each against the rest."""
    return np.mean([area(logs[:, c], labels == c) for c in range(logs.shape[1])])


def metrics(out):
    """The metric's text and value, by name."""
    logits, score, image = out["logits"].numpy(), out["score"].numpy()[:, 0], out["image"].numpy()
    labels, real, binary = DATA["labels"], DATA["real"][:, 0].astype(float), DATA["binary"][:, 0]
    positive, yes = binary > 0.5, score > 0
    right, taken, wanted = (np.array([float(v.sum())]) for v in (yes & positive, yes, positive))
    found = {
        "precision": over(right, taken)[0], "recall": over(right, wanted)[0], "f1": over(2 * right, taken + wanted)[0],
        "iou": over(right, taken + wanted - right)[0], "auc": area(score, binary),
    }
    cases = {name: (f'{name} {{ logits: "score" labels: "binary" }}', value) for name, value in found.items()}
    each = by_class(logits, labels)
    cases["macro_precision"] = ('precision { logits: "logits" labels: "labels" average: MACRO }', over(each[0], each[1]).mean())
    cases["macro_recall"] = ('recall { logits: "logits" labels: "labels" average: MACRO }', over(each[0], each[2]).mean())
    cases["macro_f1"] = ('f1 { logits: "logits" labels: "labels" average: MACRO }', over(2 * each[0], each[1] + each[2]).mean())
    counts = DATA["ignoring_pixels"] != 255
    pixel_counts = counts
    pixels = by_class(image[counts], DATA["ignoring_pixels"][counts])
    cases["pixel_iou"] = ('iou { logits: "image" labels: "ignoring_pixels" ignore_index: 255 average: MACRO }',
                          over(pixels[0], pixels[1] + pixels[2] - pixels[0]).mean())
    cases["pixel_accuracy"] = ('accuracy { logits: "image" labels: "ignoring_pixels" ignore_index: 255 }',
                               (image.argmax(-1) == DATA["ignoring_pixels"])[counts].mean())
    cases["accuracy"] = ('accuracy { logits: "logits" labels: "labels" }', (logits.argmax(1) == labels).mean())
    above = (logits > logits[np.arange(ROWS), labels][:, None]).sum(1)
    cases["top_2"] = ('top_k { logits: "logits" labels: "labels" k: 2 }', (above < 2).mean())
    logs = logits - logits.max(1, keepdims=True)
    logs = logs - np.log(np.exp(logs).sum(1, keepdims=True))
    kept = DATA["ignoring"] != -100
    cases["perplexity"] = ('perplexity { logits: "logits" labels: "labels" }', np.exp(-logs[np.arange(ROWS), labels].mean()))
    cases["kept_perplexity"] = ('perplexity { logits: "logits" labels: "ignoring" ignore_index: -100 }',
                                np.exp(-logs[np.arange(ROWS), labels][kept].mean()))
    error = score - real
    cases["mean_absolute_error"] = ('mean_absolute_error { predictions: "score" targets: "real" }', np.abs(error).mean())
    cases["root_mean_squared_error"] = ('root_mean_squared_error { predictions: "score" targets: "real" }', np.sqrt((error**2).mean()))
    cases["r2"] = ('r2 { predictions: "score" targets: "real" }', 1 - (error**2).sum() / ((real - real.mean()) ** 2).sum())
    table = np.zeros((CLASSES, CLASSES))
    np.add.at(table, (labels, logits.argmax(1)), 1)
    cases["confusion_matrix"] = ('confusion_matrix { logits: "logits" labels: "labels" }', table.tolist())
    table = np.zeros((2, 2))
    np.add.at(table, (positive.astype(int), yes.astype(int)), 1)
    cases["confusion_of_one_score"] = ('confusion_matrix { logits: "score" labels: "binary" }', table.tolist())
    counts, positive = labels != 3, labels > 0.5
    right, taken, wanted = (float(v[counts].sum()) for v in (yes & positive, yes, positive))
    ignoring = '{ logits: "score" labels: "labels" ignore_index: 3 }'
    cases["ignoring_f1"] = (f"f1 {ignoring}", 2 * right / (taken + wanted))
    cases["ignoring_accuracy"] = (f"accuracy {ignoring}", (yes == positive)[counts].mean())
    table = np.zeros((2, 2))
    np.add.at(table, (positive[counts].astype(int), yes[counts].astype(int)), 1)
    cases["ignoring_confusion"] = (f"confusion_matrix {ignoring}", table.tolist())
    yes, positive = out["mask"].numpy()[:, 0] > 0, DATA["vector"] > 0.5
    each = [v.sum(0).astype(float) for v in (yes & positive, yes, positive)]
    right, taken, wanted = (v.sum() for v in each)
    mask = 'logits: "mask" labels: "vector"'
    cases["mask_accuracy"] = (f"accuracy {{ {mask} }}", (yes == positive).mean())
    table = np.zeros((2, 2))
    np.add.at(table, (positive.astype(int), yes.astype(int)), 1)
    cases["mask_confusion"] = (f"confusion_matrix {{ {mask} }}", table.tolist())
    cases["mask_iou"] = (f"iou {{ {mask} }}", right / (taken + wanted - right))
    cases["mask_macro_f1"] = (f"f1 {{ {mask} average: MACRO }}", over(2 * each[0], each[1] + each[2]).mean())
    scores = out["mask"].numpy()[:, 0]
    cases["mask_auc"] = (f"auc {{ {mask} }}", area(scores.ravel(), positive.ravel()))
    cases["mask_macro_auc"] = (f"auc {{ {mask} average: MACRO }}", np.mean([area(scores[:, c], positive[:, c]) for c in range(MASK[-1])]))
    cases["macro_auc"] = ('auc { logits: "logits" labels: "labels" average: MACRO }', over_classes(logs, labels))
    cases["pixel_auc"] = ('auc { logits: "image" labels: "ignoring_pixels" ignore_index: 255 average: MACRO }',
                          over_classes((image - np.logaddexp.reduce(image, -1, keepdims=True))[pixel_counts], DATA["ignoring_pixels"][pixel_counts]))
    for kind in ("iou", "accuracy", "auc"):
        text, value = cases[f"pixel_{kind}"]
        cases[f"channel_{kind}"] = (text.replace("image", "channels"), value)
    cases["map_accuracy"] = ('accuracy { logits: "map" labels: "vector" }', ((out["positive"].numpy() > 0) == positive).mean())
    cases["ignoring_auc"] = (f"auc {ignoring}", area(score[counts], labels[counts] > 0.5))
    return {name: {"spec": text, "value": value if isinstance(value, list) else float(value)} for name, (text, value) in cases.items()}


def main():
    save_model()
    np.savez_compressed(os.path.join(HERE, "objectives.npz"), **DATA)
    losses = {}
    for name, (text, loss) in LOSSES.items():
        _, steps, evaluation = train(loss)
        losses[name] = {"spec": text, "losses": steps, "evaluation": evaluation}
    both = lambda out, data, model: cross_entropy()(out, data, model) + F.mse_loss(out["score"], data["real"]) + cross_entropy("image", "pixels")(out, data, model) + hinge(out, data, model)
    model, _, _ = train(both)
    with torch.no_grad():
        found = metrics(model(batch(0, ROWS)["x"]))
    with open(os.path.join(HERE, "expected.json"), "w") as out:
        json.dump({"losses": losses, "metrics": found}, out, indent=1)


main()
