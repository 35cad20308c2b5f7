"""Small networks that look like detectors, made on the spot."""

from pathlib import Path

import numpy as np
from onnx import TensorProto, helper, numpy_helper

from model.options.detectors import labels_path

NAMES = ("boxes", "labels", "scores")
LABELS = ("nothing", "dog", "traffic light")


def make_detector(
    path: Path,
    names: tuple[str, str, str] = NAMES,
    *,
    found: tuple[int, ...] | tuple[float, ...] = (1, 2, 1),
    size: tuple[int | str, int | str] = ("height", "width"),
) -> Path:
    """Sees label 1 as surely as the picture is bright, and always label 2 and a faint second thing of label 1."""
    numbers = np.array(found)
    kind = TensorProto.INT64 if numbers.dtype == np.int64 else TensorProto.DOUBLE
    constants = {
        "fixed_boxes": np.zeros((3, 4), np.float32),
        "fixed_labels": numbers,
        "fixed_scores": np.array([0.9, 0.2], np.float32),
        "one": np.array([1], np.int64),
    }
    nodes = [
        helper.make_node("Identity", ["fixed_boxes"], [names[0]]),
        helper.make_node("Identity", ["fixed_labels"], [names[1]]),
        helper.make_node("ReduceMean", ["image"], ["mean"], keepdims=0),
        helper.make_node("Reshape", ["mean", "one"], ["brightness"]),
        helper.make_node("Concat", ["brightness", "fixed_scores"], [names[2]], axis=0),
    ]
    graph = helper.make_graph(
        nodes,
        "detector",
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, *size])],
        [
            helper.make_tensor_value_info(names[0], TensorProto.FLOAT, [3, 4]),
            helper.make_tensor_value_info(names[1], kind, [len(found)]),
            helper.make_tensor_value_info(names[2], TensorProto.FLOAT, [3]),
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return path


def write_labels(detector: Path, text: str) -> Path:
    labels = Path(labels_path(str(detector)))
    labels.write_text(text)
    return labels
