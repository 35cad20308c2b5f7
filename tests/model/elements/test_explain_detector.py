from dataclasses import replace
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from PIL import Image

from model.elements.detector import Detected, Detector, DetectorError
from model.elements.explain import Explainer
from tests.model.elements.explain_scenes import Scenes, make_scenes

LABELS = ("nothing", "dog", "traffic light")


def make_detector(path: Path, names: tuple[str, str, str] = ("boxes", "labels", "scores")) -> Path:
    """Sees a dog as surely as the picture is bright, and always a traffic light and a faint second dog."""
    constants = {
        "fixed_boxes": np.zeros((3, 4), np.float32),
        "fixed_labels": np.array([1, 2, 1], np.int64),
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
        [helper.make_tensor_value_info("image", TensorProto.FLOAT, [1, 3, "height", "width"])],
        [
            helper.make_tensor_value_info(names[0], TensorProto.FLOAT, [3, 4]),
            helper.make_tensor_value_info(names[1], TensorProto.INT64, [3]),
            helper.make_tensor_value_info(names[2], TensorProto.FLOAT, [3]),
        ],
        [numpy_helper.from_array(value, name) for name, value in constants.items()],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    path.write_bytes(model.SerializeToString())
    return path


class TestDetector:
    def test_things_above_the_cut_are_seen_once_each_the_surest_first(self, tmp_path: Path) -> None:
        detector = Detector.load(make_detector(tmp_path / "d.onnx"), LABELS)
        found = detector.detect(Image.new("RGB", (40, 30), (178, 178, 178)))
        assert [one.label for one in found] == ["traffic light", "dog"]
        assert [one.score for one in found] == pytest.approx([0.9, 178 / 255], abs=1e-3)

    def test_unsure_things_are_left_out(self, tmp_path: Path) -> None:
        detector = Detector.load(make_detector(tmp_path / "d.onnx"), LABELS)
        assert [one.label for one in detector.detect(Image.new("RGB", (40, 30)))] == ["traffic light"]

    def test_outputs_of_other_names_go_by_their_order(self, tmp_path: Path) -> None:
        detector = Detector.load(make_detector(tmp_path / "d.onnx", ("a", "b", "c")), LABELS)
        assert [one.label for one in detector.detect(Image.new("RGB", (8, 8)))] == ["traffic light"]

    def test_labels_without_a_name_are_left_out(self, tmp_path: Path) -> None:
        assert Detector.load(make_detector(tmp_path / "d.onnx"), LABELS[:1]).detect(Image.new("RGB", (8, 8))) == []

    def test_file_that_is_no_network_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "d.onnx").write_bytes(b"not a network")
        with pytest.raises(DetectorError, match="no ONNX network"):
            Detector.load(tmp_path / "d.onnx", LABELS)

    def test_missing_file_is_named(self, tmp_path: Path) -> None:
        with pytest.raises(DetectorError, match=r"absent\.onnx"):
            Detector.load(tmp_path / "absent.onnx", LABELS)

    def test_network_without_scores_is_refused(self, tmp_path: Path) -> None:
        model = onnx.load(make_detector(tmp_path / "d.onnx"))
        del model.graph.output[2]
        (tmp_path / "d.onnx").write_bytes(model.SerializeToString())
        with pytest.raises(DetectorError, match="boxes, labels and scores"):
            Detector.load(tmp_path / "d.onnx", LABELS)


@pytest.fixture(scope="module")
def scenes() -> Scenes:
    return make_scenes(300)


@pytest.fixture(scope="module")
def explainer(scenes: Scenes) -> Explainer:
    return Explainer.fit(scenes.pairs, scenes.trust)


class TestExplainDetected:
    def test_detected_things_join_the_image_elements(self, scenes: Scenes, explainer: Explainer) -> None:
        texts = list(scenes.pairs.texts or ())
        texts[0] = "a zebra on the beach"
        changed = replace(explainer, pairs=replace(scenes.pairs, texts=texts))
        (found,) = changed.explain(np.array([0]), [[Detected("zebra", 0.9), Detected("giraffe", 0.8)]])
        mentions = {e.lemma: e.is_mentioned for e in found.image_elements if e.source == "detector"}
        assert mentions == {"zebra": True, "giraffe": False}

    def test_what_the_concepts_show_already_is_not_said_twice(self, scenes: Scenes, explainer: Explainer) -> None:
        row = int(np.flatnonzero(~scenes.is_mismatch)[0])
        thing = scenes.shown[row][0]
        (found,) = explainer.explain(np.array([row]), [[Detected(thing, 0.9)]])
        assert sum(e.lemma.split()[-1] == thing for e in found.image_elements) == 1


class TestPrompts:
    def test_prompts_of_a_joint_encoder_show_what_few_pairs_mention(self) -> None:
        """A space in which text and image of a word are one: of some words hardly any pair is trusted."""
        scenes = make_scenes(300)
        looks = np.linalg.lstsq(_indicators(scenes), scenes.pairs.images, rcond=None)[0]
        words = sorted({word for shown in scenes.shown for word in shown})

        def encode_texts(texts: list[str]) -> np.ndarray:
            return np.array(
                [sum(looks[words.index(w)] for w in text.split() if w in words) + 0 * looks[0] for text in texts]
            )

        pairs = replace(scenes.pairs, is_joint=True)
        trust = np.where(["dog" in text for text in pairs.texts or ()], 0.01, scenes.trust).astype(np.float32)
        rows = np.array([row for row, (thing, _, _) in enumerate(scenes.shown) if thing == "dog"])
        found = {}
        for name, encode in (("prompted", encode_texts), ("plain", None)):
            fitted = Explainer.fit(pairs, trust, encode_texts=encode)
            scores = fitted.votes[0].scores(fitted.readers[0](np.arange(300)), np.zeros(300, np.int64))
            column = scores[:, fitted.concepts.heads["dog"]]
            found[name] = (column[rows].mean() - column.mean()) / column.std()
        assert found["prompted"] > found["plain"]


def _indicators(scenes: Scenes) -> np.ndarray:
    words = sorted({word for shown in scenes.shown for word in shown})
    return np.array([[word in shown for word in words] for shown in scenes.shown], float)
