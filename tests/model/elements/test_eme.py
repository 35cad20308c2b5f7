import pytest

from model.elements.eme import CaptionElement, Explanation, ImageElement, score


def caption_element(probability: float, is_known: bool = True) -> CaptionElement:
    return CaptionElement("dog", "dog", 0, 3, probability, probability >= 0.5, None, is_known)


def image_element(mention: float, probability: float = 1.0) -> ImageElement:
    return ImageElement("dog", probability, mention, mention >= 0.5, "concept")


class TestScore:
    def test_toy_example_of_figure_10_is_three_quarters(self) -> None:
        """All of one side matched and half of the other: 1/(2*2) * 2 + 1/(2*4) * 2 = .5 + .25."""
        assert score([1, 1], [1, 1, 0, 0]) == 0.75
        assert score([1, 0], [1, 1]) == 0.75

    def test_nothing_in_common_is_zero_and_everything_is_one(self) -> None:
        assert score([0, 0], [0]) == 0.0
        assert score([1], [1, 1, 1]) == 1.0

    def test_sides_count_alike_whatever_their_number_of_elements(self) -> None:
        assert score([1], [0, 0, 0]) == 0.5

    def test_empty_side_leaves_the_word_to_the_other(self) -> None:
        assert score([], [1, 0, 0, 0]) == 0.25
        assert score([1, 0], []) == 0.5

    def test_two_empty_sides_have_no_score(self) -> None:
        assert score([], []) is None


class TestExplanation:
    def test_hard_score_counts_indicators_and_soft_one_probabilities(self) -> None:
        found = Explanation.of([caption_element(0.9), caption_element(0.3)], [image_element(0.8)])
        assert found.eme == 0.75
        assert found.eme_soft == pytest.approx((0.8 + 0.6) / 2)

    def test_image_elements_count_softly_by_their_own_probability(self) -> None:
        found = Explanation.of([], [image_element(1.0, 0.9), image_element(0.0, 0.6)])
        assert found.eme_soft == pytest.approx(0.6)
        assert found.eme == 0.5

    def test_caption_elements_nothing_is_known_of_do_not_count(self) -> None:
        found = Explanation.of([caption_element(0.9), caption_element(0.1, is_known=False)], [])
        assert found.eme == 1.0
        assert len(found.caption_elements) == 2

    def test_dict_holds_plain_values_of_both_lists(self) -> None:
        told = Explanation.of([caption_element(0.9)], [image_element(0.25)]).to_dict()
        assert told["caption_elements"][0]["lemma"] == "dog"
        assert told["image_elements"] == [
            {"lemma": "dog", "probability": 1.0, "mention": 0.25, "is_mentioned": False, "source": "concept"}
        ]
        assert told["eme"] == 0.5
