import numpy as np
import pytest

from model.elements.claims import Claims
from model.elements.concepts import NONE, Kind, Parts, Rivals, Trait
from model.elements.indicator import Indicator
from model.elements.scale import Scale

HEAD, COLOUR, PHRASE = 0, 1, 2


def claims(column: int, scores: np.ndarray) -> Claims:
    rows = np.arange(len(scores))
    return Claims(rows, np.full(len(scores), column), np.ones(len(scores)), scores.astype(float))


def joined(*parts: Claims) -> Claims:
    return Claims(*(np.concatenate([getattr(p, name) for p in parts]) for name in vars(parts[0])))


def even_scale(size: int = 3, strength: tuple[float, ...] = (1, 1, 1)) -> Scale:
    return Scale(np.zeros(size), np.ones(size), np.array(strength, float))


def indicator(rate: float = 0.5, strength: tuple[float, ...] = (1, 1, 1)) -> Indicator:
    return Indicator(even_scale(strength=strength), np.array([False, False, False]), rate)


RED_BALL = Parts(HEAD, (Trait("red", Rivals.COLOUR, COLOUR, NONE),))


class TestScale:
    def test_each_concept_is_judged_by_its_own_distribution(self) -> None:
        """A score of .5 is much for the first concept and little for the second."""
        rng = np.random.default_rng(0)
        noise = lambda: 0.1 * rng.normal(size=400)  # noqa: E731
        kinds = np.array([Kind.HEAD, Kind.HEAD], np.int8)
        true = joined(claims(0, 0.5 + noise()), claims(1, 0.9 + noise()))
        false = joined(claims(0, 0.0 + noise()), claims(1, 0.5 + noise()))
        evidence = Scale.fit(kinds, true, false).evidence(np.array([[0.5, 0.5]]))
        assert evidence[0, 0] > 2
        assert evidence[0, 1] < -2

    def test_evidence_is_calibrated(self) -> None:
        """Two normal distributions two deviations apart: log odds 2 * (x - 1)."""
        rng = np.random.default_rng(1)
        true, false = claims(0, 2 + rng.normal(size=4000)), claims(0, rng.normal(size=4000))
        scale = Scale.fit(np.zeros(1, np.int8), true, false)
        assert scale.evidence(np.array([[0.0], [1.0], [2.0]]))[:, 0] == pytest.approx([-2, 0, 2], abs=0.25)

    def test_concept_that_cannot_be_seen_gives_no_evidence(self) -> None:
        rng = np.random.default_rng(2)
        true, false = claims(0, rng.normal(size=3000) - 0.1), claims(0, rng.normal(size=3000))
        assert Scale.fit(np.zeros(1, np.int8), true, false).evidence(np.array([[5.0]]))[0, 0] == 0

    def test_few_claims_count_less(self) -> None:
        rng = np.random.default_rng(3)
        kinds = np.zeros(2, np.int8)
        true = joined(claims(0, 1 + rng.normal(size=3)), claims(1, 1 + rng.normal(size=3000)))
        false = joined(claims(0, rng.normal(size=9)), claims(1, rng.normal(size=9000)))
        true.scores[:3], false.scores[:9] = 1.0, 0.0
        scale = Scale.fit(kinds, true, false)
        assert 0 < scale.slope[0] < 0.7 * scale.slope[1]

    def test_no_claims_at_all_give_no_evidence(self) -> None:
        nothing = claims(0, np.zeros(0))
        assert Scale.fit(np.zeros(1, np.int8), nothing, nothing).evidence(np.ones((1, 1)))[0, 0] == 0


class TestVerdict:
    def test_without_evidence_the_rate_of_mismatches_speaks(self) -> None:
        assert indicator(0.25).verdict(Parts(HEAD, ()), np.zeros(3)).probability == pytest.approx(0.75)

    def test_evidence_moves_the_odds(self) -> None:
        found = indicator().verdict(Parts(HEAD, ()), np.array([np.log(9.0), 0, 0]))
        assert found.probability == pytest.approx(0.9)
        assert found.wrong is None

    def test_wrong_colour_is_named_where_the_head_is_right(self) -> None:
        found = indicator().verdict(RED_BALL, np.array([6.0, -6.0, 0]))
        assert found.probability < 0.1
        assert found.wrong == "colour"

    def test_wrong_kind_is_named_where_the_head_is_not_there(self) -> None:
        assert indicator().verdict(RED_BALL, np.array([-6.0, 3.0, 0])).wrong == "kind"

    def test_head_of_a_place_is_called_a_setting(self) -> None:
        placed = Indicator(even_scale(), np.array([True, False, False]), 0.5)
        assert placed.verdict(Parts(HEAD, ()), np.array([-6.0, 0, 0])).wrong == "setting"

    def test_unknown_head_stays_as_likely_as_any(self) -> None:
        assert indicator(0.3).verdict(Parts(NONE, ()), np.zeros(3)).probability == pytest.approx(0.7)


class TestTelling:
    def test_the_stronger_of_both_columns_is_asked(self) -> None:
        assert indicator(strength=(1, 2, 1)).telling(COLOUR, PHRASE) == COLOUR
        assert indicator(strength=(1, 1, 2)).telling(COLOUR, PHRASE) == PHRASE

    def test_the_only_one_is_asked(self) -> None:
        assert indicator().telling(COLOUR, NONE) == COLOUR
        assert indicator().telling(NONE, NONE) == NONE
