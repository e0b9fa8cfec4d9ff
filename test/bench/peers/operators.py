"""Single operators at the sizes of detectors, text generation, graphs and audio, where the algorithm decides: models of a node or two and their
inputs. OPERATORS has a function for each, which returns (nodes, inputs, constants) of a model with one output, "y"."""
import numpy as np
import onnx
from onnx import helper, numpy_helper

SEED = 5


def node(op, *inputs, to="y", **attributes):
    return helper.make_node(op, list(inputs), [to] if isinstance(to, str) else to, **attributes)


def floats(random, *shape):
    return random.standard_normal(shape, np.float32)


def top(rows, size, count):
    """The values that TopK finds."""
    def build(random):
        return [node("TopK", "x", "k", to=["y", "places"])], {"x": floats(random, rows, size)}, {"k": np.array([count])}
    return build


def suppression(classes, boxes, most):
    """Boxes of 5 to 85 in a square of 600, of which one in seven is a candidate."""
    def build(random):
        center, size = random.random((1, boxes, 2)) * 600, random.random((1, boxes, 2)) * 80 + 5
        given = {"x": np.concatenate([center - size / 2, center + size / 2], -1).astype(np.float32),
                 "scores": (random.random((1, classes, boxes)) ** 8).astype(np.float32)}
        constants = {"most": np.array([most]), "overlap": np.array([0.5], np.float32), "least": np.array([0.25], np.float32)}
        return [node("NonMaxSuppression", "x", "scores", "most", "overlap", "least")], given, constants
    return build


def cumulative(dtype, shape, axis):
    def build(random):
        return [node("CumSum", "x", "axis")], {"x": random.integers(0, 3, shape).astype(dtype)}, {"axis": np.array(axis)}
    return build


def scattered(shape, updates, axis, reduction="none", shared=False):
    """`shared`: one index for all elements of a slice, expanded as exporters do."""
    def build(random):
        indices = random.integers(0, shape[axis], [n if d == axis else 1 for d, n in enumerate(updates)] if shared else updates)
        given = {"x": floats(random, *shape), "indices": indices, "updates": floats(random, *updates)}
        expand = [node("Expand", "indices", "shape", to="all")] if shared else []
        nodes = [*expand, node("ScatterElements", "x", "all" if shared else "indices", "updates", axis=axis, reduction=reduction)]
        return nodes, given, {"shape": np.array(updates)} if shared else {}
    return build


def rows_set(random):
    given = {"x": floats(random, 100000, 64), "indices": random.permutation(100000)[:10000, None], "updates": floats(random, 10000, 64)}
    return [node("ScatterND", "x", "indices", "updates")], given, {}


def resized(shape, to, mode):
    def build(random):
        return [node("Resize", "x", "", "", "sizes", mode=mode)], {"x": floats(random, *shape)}, {"sizes": np.array([*shape[:2], *to])}
    return build


def pooled(op, shape, kernel):
    def build(random):
        low = (kernel - 1) // 2
        pads = [low, low, kernel - 1 - low, kernel - 1 - low]
        return [node(op, "x", kernel_shape=[kernel, kernel], pads=pads)], {"x": floats(random, *shape)}, {}
    return build


def folded(channels, picture, kernel, stride):
    def build(random):
        windows = [(n - k) // stride[d] + 1 for d, (n, k) in enumerate(zip(picture, kernel))]
        constants = {"picture": np.array(picture), "kernel": np.array(kernel)}
        given = {"x": floats(random, 1, channels * int(np.prod(kernel)), int(np.prod(windows)))}
        return [node("Col2Im", "x", "picture", "kernel", strides=list(stride))], given, constants
    return build


def places(random):
    return [node("NonZero", "x")], {"x": random.random((640, 640)) > 0.9}, {}


def unpooled(random):
    lines, columns = np.meshgrid(np.arange(56), np.arange(56), indexing="ij")
    windows = np.arange(128).reshape(2, 64, 1, 1) * 112
    indices = (windows + 2 * lines + random.integers(0, 2, (2, 64, 56, 56))) * 112 + 2 * columns
    return [node("MaxUnpool", "x", "indices", kernel_shape=[2, 2], strides=[2, 2])], {"x": floats(random, 2, 64, 56, 56), "indices": indices}, {}


def counted_loop(random):
    """Ends after ten of up to a million trips."""
    def port(name, kind, shape=()):
        return helper.make_tensor_value_info(name, kind, shape)
    body = helper.make_graph(
        [node("Add", "state", "one", to="next"), node("ReduceMax", "next", to="largest", keepdims=0), node("Less", "largest", "end", to="again")],
        "body", [port("trip", onnx.TensorProto.INT64), port("goes", onnx.TensorProto.BOOL), port("state", onnx.TensorProto.FLOAT, [64])],
        [port("again", onnx.TensorProto.BOOL), port("next", onnx.TensorProto.FLOAT, [64])])
    constants = {"trips": np.array(10**6), "start": np.array(True), "one": np.ones(1, np.float32), "end": np.array(10, np.float32)}
    return [node("Loop", "trips", "start", "x", body=body)], {"x": np.zeros(64, np.float32)}, constants


def integer_product(random):
    return [node("MatMulInteger", "x", "weights")], {"x": random.integers(0, 256, (1, 4096), np.uint8)}, \
        {"weights": random.integers(-128, 128, (4096, 4096), np.int8)}


def block_product(rows, steps, columns):
    """Weights of 4 bits with a scale for each 32 steps of a column, in a list as ONNX Runtime's HQQ quantizer writes them."""
    block = 32
    def build(random):
        count = columns * steps // block
        constants = {"codes": random.integers(0, 256, (columns, steps // block, block // 2), np.uint8),
                     "scales": random.random(count, np.float32)}
        product = node("MatMulNBits", "x", "codes", "scales", domain="com.microsoft", K=steps, N=columns, bits=4, block_size=block)
        return [product], {"x": floats(random, rows, steps)}, constants
    return build


def inverse_transform(random):
    return [node("ConvTranspose", "x", "filter", strides=[128])], {"x": floats(random, 1, 514, 256)}, {"filter": floats(random, 514, 1, 512)}


def scores(batch, heads, positions, size):
    """Of queries and keys, q k^T."""
    def build(random):
        given = {"x": floats(random, batch, heads, positions, size), "keys": floats(random, batch, heads, positions, size)}
        return [node("Transpose", "keys", to="turned", perm=[0, 1, 3, 2]), node("MatMul", "x", "turned")], given, {}
    return build


def joined(parts, shape, axis):
    def build(random):
        names = ["x", *(f"x{i}" for i in range(1, parts))]
        return [node("Concat", *names, axis=axis)], {name: floats(random, *shape) for name in names}, {}
    return build


def reflected(shape, rows):
    def build(random):
        pads = [0, 0, rows, rows] * 2
        return [node("Pad", "x", "pads", mode="reflect")], {"x": floats(random, *shape)}, {"pads": np.array(pads)}
    return build


def extremes(*shape):
    def build(random):
        return [node("ReduceMax", "x", "axis", keepdims=0)], {"x": floats(random, *shape)}, {"axis": np.array([-1])}
    return build


def softmax(*shape):
    return lambda random: ([node("Softmax", "x", axis=-1)], {"x": floats(random, *shape)}, {})


OPERATORS = {
    "TopK 40 of 50,257": top(1, 50257, 40),
    "TopK 1,000 of 100,000": top(1, 100000, 1000),
    "TopK 2 of 64 in 4,096 rows": top(4096, 64, 2),
    "TopK 256 of 256 in 256 rows": top(256, 256, 256),
    "NonMaxSuppression 25,200 boxes": suppression(1, 25200, 300),
    "NonMaxSuppression 8,400 boxes of 80 classes": suppression(80, 8400, 100),
    "CumSum 1,000,000": cumulative(np.int64, (1, 1000000), 1),
    "CumSum 2,048 by 1,536 along the first": cumulative(np.float32, (2048, 1536), 0),
    "ScatterElements 1,000 of 50,257 in 8 rows": scattered((8, 50257), (8, 1000), 1),
    "ScatterElements 10,000 points into 64 by 16,384, added": scattered((1, 64, 16384), (1, 64, 10000), 2, "add", shared=True),
    "ScatterElements 1,000 of 4,096 columns of 512 rows": scattered((512, 4096), (512, 1000), 1, shared=True),
    "ScatterND 10,000 of 100,000 rows of 64": rows_set,
    "Resize linear 3 by 1080 by 1920 to 640 by 640": resized((1, 3, 1080, 1920), (640, 640), "linear"),
    "Resize linear 32 by 512 by 512 to 1024 by 1024": resized((1, 32, 512, 512), (1024, 1024), "linear"),
    "Resize nearest 512 by 512 to 375 by 500": resized((1, 1, 512, 512), (375, 500), "nearest"),
    "MaxPool 9 by 9 of 480 by 640": pooled("MaxPool", (1, 1, 480, 640), 9),
    "MaxPool 3 by 3 of 80 by 128 by 128": pooled("MaxPool", (1, 80, 128, 128), 3),
    "AveragePool 31 by 31 of 3 by 256 by 256": pooled("AveragePool", (1, 3, 256, 256), 31),
    "Col2Im 16 by 16 tiles of 224 by 224": folded(3, (224, 224), (16, 16), (16, 16)),
    "Col2Im 256 frames of 1,024, hop 256": folded(1, (1, 1024 + 256 * 255), (1, 1024), (1, 256)),
    "Col2Im 3 by 3 of 128 by 56 by 56": folded(128, (56, 56), (3, 3), (1, 1)),
    "NonZero 640 by 640": places,
    "MaxUnpool 2 by 64 by 56 by 56": unpooled,
    "Loop of 1,000,000 that ends after 10": counted_loop,
    "MatMulInteger 1 by 4,096 by 4,096": integer_product,
    "MatMulNBits 1 by 4,096 by 4,096": block_product(1, 4096, 4096),
    "MatMulNBits 1 by 4,096 by 11,008": block_product(1, 4096, 11008),
    "MatMulNBits 64 by 4,096 by 4,096": block_product(64, 4096, 4096),
    "MatMulNBits 64 by 4,096 by 11,008": block_product(64, 4096, 11008),
    "ConvTranspose 514 to 1 channels, 512 taps, hop 128": inverse_transform,
    "MatMul of 12 by 196 by 64 with keys alike": scores(1, 12, 196, 64),
    "MatMul of 6 by 300 by 100 with keys alike": scores(1, 6, 300, 100),
    "Concat of four pictures of 64 by 28 by 28": joined(4, (8, 64, 28, 28), 0),
    "Pad by reflection of 64 by 56 by 56": reflected((8, 64, 56, 56), 3),
    "ReduceMax of 75,264 rows of 196": extremes(32, 12, 196, 196),
    "Softmax of 1,024 rows of 1,000": softmax(1024, 1000),
}


def export(name, folder):
    """Writes the model; returns its path and its inputs."""
    nodes, given, constants = OPERATORS[name](np.random.default_rng(SEED))
    inputs = [helper.make_tensor_value_info(key, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape) for key, x in given.items()]
    outputs = [helper.make_value_info("y", onnx.TypeProto())]
    graph = helper.make_graph(nodes, "operator", inputs, outputs, [numpy_helper.from_array(x, key) for key, x in constants.items()])
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("com.microsoft", 1)]
    model = onnx.shape_inference.infer_shapes(helper.make_model(graph, opset_imports=opsets, ir_version=8))
    path = f"{folder}/model.onnx"
    onnx.save(model, path)
    return path, given
