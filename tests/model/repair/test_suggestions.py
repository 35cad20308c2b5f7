"""Suggested partners: the right ones, no known ones, and how far they are to be trusted."""

from dataclasses import replace

import numpy as np
import pytest

from model.metrics import expected_calibration_error
from model.repair.suggestions import NONE, Finder, Found
from tests.model.repair.cases import Bools, Case, make_case

SIDES = ["captions", "images"]


def ask(case: Case, side: str, places: np.ndarray) -> tuple[Found, Bools]:
    """What is found for these pairs, and which of it is right."""
    make = {"captions": Finder.of_captions, "images": Finder.of_images}[side]
    finder = make((case.images, case.captions), case.image_ids, case.caption_ids, case.confidence)
    assert finder is not None
    found = finder.best(places)
    if side == "captions":
        is_right = case.true_images[found.places] == case.image_ids[places][:, None]
    else:
        is_right = case.image_ids[found.places] == case.true_images[places][:, None]
    return found, is_right & (found.places != NONE)


def flagged(case: Case) -> np.ndarray:
    return np.flatnonzero(case.confidence < 0.5)


class TestFinder:
    @pytest.mark.parametrize("side", SIDES)
    def test_the_lost_partner_is_among_the_five(self, side: str) -> None:
        case = make_case(2000, 1, 0.3, blur=0.4)
        places = np.flatnonzero(case.is_mismatch)
        _, is_right = ask(case, side, places)
        assert is_right.any(axis=1).mean() > 0.85

    @pytest.mark.parametrize("side", SIDES)
    @pytest.mark.parametrize("blur", [0.3, 0.5, 0.8, 1.2])
    def test_the_confidence_of_the_best_is_calibrated(self, side: str, blur: float) -> None:
        """From networks that tell nearly everything apart to ones that hardly do."""
        case = make_case(3000, 2, 0.4, blur=blur)
        found, is_right = ask(case, side, flagged(case))
        assert expected_calibration_error(found.confidence[:, 0], ~is_right[:, 0]) <= 0.1

    @pytest.mark.parametrize("side", SIDES)
    @pytest.mark.parametrize("blur", [0.3, 0.5, 0.8])
    def test_where_no_partner_is_there_the_best_of_many_is_not_believed(self, side: str, blur: float) -> None:
        """The captions of mismatched pairs and their images belong to nothing in the collection."""
        case = make_case(3000, 3, 0.0, blur=blur)
        strange = make_case(3000, 4, 0.0, blur=blur)
        lost = np.arange(0, 3000, 3)
        captions, confidence = case.captions.copy(), np.full(3000, 0.9)
        captions[lost], confidence[lost] = strange.captions[lost], 0.1
        found, _ = ask(replace(case, captions=captions, confidence=confidence), side, lost)
        assert found.confidence[:, 0].mean() <= 0.1

    def test_several_lost_captions_of_an_image_are_all_found(self) -> None:
        case = make_case(5000, 1, 0.4, repeats=5, blur=0.4)
        places = flagged(case)
        found, is_right = ask(case, "captions", places)
        assert is_right[:, :2].mean() > 0.6
        assert expected_calibration_error(found.confidence[:, 0], ~is_right[:, 0]) <= 0.1

    def test_an_image_with_trusted_captions_is_suggested_for_one_more(self) -> None:
        case = make_case(5000, 1, 0.4, repeats=5, blur=0.4)
        _, is_right = ask(case, "images", np.flatnonzero(case.is_mismatch))
        assert is_right[:, 0].mean() > 0.6

    @pytest.mark.parametrize("side", SIDES)
    def test_known_partners_and_equal_contents_are_not_suggested(self, side: str) -> None:
        case = make_case(1000, 1, 0.3, repeats=5, blur=0.4)
        found, _ = ask(case, side, np.arange(1000))
        ids, own = (case.caption_ids, case.image_ids) if side == "captions" else (case.image_ids, case.caption_ids)
        known = set(zip(own.tolist(), ids.tolist(), strict=True))
        for query, row in zip(own.tolist(), found.places, strict=True):
            contents = ids[row[row != NONE]].tolist()
            assert len(set(contents)) == len(contents)
            assert not known & {(query, content) for content in contents}

    @pytest.mark.parametrize("blur", [0.8, 3.0])
    def test_confidence_never_rises_from_the_first_to_the_last(self, blur: float) -> None:
        """Also where the networks tell nothing apart."""
        found, _ = ask(make_case(1000, 1, 0.3, blur=blur), "captions", np.arange(50))
        assert (np.diff(found.confidence, axis=1) <= 0).all()
        assert ((found.confidence >= 0) & (found.confidence <= 1)).all()

    def test_the_similarity_is_the_cosine(self) -> None:
        case = make_case(1000, 1, 0.3)
        found, _ = ask(replace(case, images=3 * case.images), "captions", np.arange(20))
        cosines = (case.images[:20, None] * case.captions[found.places]).sum(axis=2)
        np.testing.assert_allclose(found.similarity, cosines, atol=1e-5)

    def test_fewer_contents_than_asked_for_leave_places_empty(self) -> None:
        case = make_case(200, 1)
        few = replace(case, caption_ids=case.caption_ids % 3, captions=case.captions[case.caption_ids % 3])
        found, _ = ask(few, "captions", np.array([0, 1]))
        assert (found.places != NONE).sum(axis=1).tolist() == [2, 2]
        assert (found.confidence[:, 2:] == 0).all()

    def test_without_trusted_pairs_nothing_is_preferred(self) -> None:
        case = make_case(500, 1)
        found, _ = ask(replace(case, confidence=np.full(500, 0.1)), "captions", np.arange(10))
        assert (found.confidence < 0.05).all()

    def test_inverted_lists_find_nearly_the_same(self) -> None:
        case = make_case(6000, 1, 0.3, blur=0.4)
        parts = (case.images, case.captions, case.image_ids, case.caption_ids, case.confidence)
        places = np.flatnonzero(case.is_mismatch)[:300]
        exact, listed = (Finder(*parts, exact_count=count).best(places) for count in (200_000, 1000))
        assert (exact.places[:, 0] == listed.places[:, 0]).mean() > 0.9

    def test_no_rows_give_no_suggestions(self) -> None:
        found, _ = ask(make_case(500, 1, 0.3), "captions", np.empty(0, np.int64))
        assert found.places.shape == found.confidence.shape == (0, 5)

    @pytest.mark.parametrize("make", [Finder.of_captions, Finder.of_images])
    def test_without_vectors_there_is_no_finder(self, make: type) -> None:
        ids = np.arange(10)
        assert make(None, ids, ids, np.ones(10)) is None
