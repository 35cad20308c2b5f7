from pathlib import Path

import numpy as np
import onnx
import pytest
from PIL import Image

from model.elements.detector import Detector, DetectorError
from tests.model.elements.detectors import LABELS, make_detector


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

    def test_order_is_not_guessed_where_labels_are_no_whole_numbers(self, tmp_path: Path) -> None:
        network = make_detector(tmp_path / "d.onnx", ("a", "b", "c"), found=(0.5, 0.5, 0.5))
        with pytest.raises(DetectorError, match="a, b, c are not named boxes, labels and scores"):
            Detector.load(network, LABELS)

    def test_network_that_fails_on_a_picture_is_refused_when_it_is_loaded(self, tmp_path: Path) -> None:
        network = make_detector(tmp_path / "d.onnx", found=(1, 2))
        with pytest.raises(DetectorError, match=r"d\.onnx: it gives 2 labels and 3 scores"):
            Detector.load(network, LABELS)

    @pytest.mark.parametrize("size", [(0, 48), (48, 100_000)])
    def test_network_for_pictures_of_no_sensible_size_is_refused(self, tmp_path: Path, size: tuple[int, int]) -> None:
        with pytest.raises(DetectorError, match="pixels"):
            Detector.load(make_detector(tmp_path / "d.onnx", size=size), LABELS)


class TestScores:
    def test_every_label_has_the_score_of_its_surest_thing(self, tmp_path: Path) -> None:
        detector = Detector.load(make_detector(tmp_path / "d.onnx", size=(48, 64)), LABELS)
        found = detector.scores([Image.new("RGB", (40, 30), "white"), Image.new("RGB", (40, 30))])
        assert found == pytest.approx(np.array([[0, 1, 0.9], [0, 0.2, 0.9]]))

    def test_no_pictures_have_no_scores(self, tmp_path: Path) -> None:
        assert Detector.load(make_detector(tmp_path / "d.onnx"), LABELS).scores([]).shape == (0, 3)


class TestNamed:
    def test_labels_of_one_name_are_one_and_those_without_are_left_out(self, tmp_path: Path) -> None:
        detector = Detector.load(make_detector(tmp_path / "d.onnx"), ("dog", "dog", ""))
        (found,) = detector.named(np.array([0.625, 0.75, 0.875], np.float32))
        assert (found.label, found.score) == ("dog", 0.75)


class TestIdentity:
    def test_is_that_of_the_network_and_the_count_of_labels(self, tmp_path: Path) -> None:
        first, same = (make_detector(tmp_path / f"{name}.onnx") for name in "ab")
        other = make_detector(tmp_path / "c.onnx", found=(2, 1, 2))
        identity = Detector.load(first, LABELS).identity
        assert Detector.load(same, ("a", "b", "c")).identity == identity
        assert Detector.load(same, LABELS[:2]).identity != identity
        assert Detector.load(other, LABELS).identity != identity


class TestPreparation:
    def test_whole_pictures_become_squares_of_the_longer_side(self, tmp_path: Path) -> None:
        preparation = Detector.load(make_detector(tmp_path / "d.onnx", size=(48, 64)), LABELS).preparation
        assert (preparation.size, preparation.is_cropped) == (64, False)
