import random

import pytest
from scipy.stats import beta, binom

from service.exact_intervals import at_least, clopper_pearson, needed

COUNTS = [(0, 1), (1, 1), (0, 10), (10, 10), (3, 7), (5, 10), (39, 40), (390, 400), (1, 100_000), (50_000, 100_000)]


class TestClopperPearson:
    @pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
    @pytest.mark.parametrize(("hits", "of"), COUNTS)
    def test_ends_are_quantiles_of_the_beta_distribution(self, hits: int, of: int, confidence: float) -> None:
        rest = (1 - confidence) / 2
        low = beta.ppf(rest, hits, of - hits + 1) if hits else 0.0
        high = beta.ppf(1 - rest, hits + 1, of - hits) if hits < of else 1.0
        assert clopper_pearson(hits, of, confidence) == pytest.approx((low, high), rel=1e-9, abs=1e-14)

    def test_one_of_one_by_hand(self) -> None:
        """P(1 hit of 1) = p, which is .025 at p = .025; nothing speaks against p = 1."""
        assert clopper_pearson(1, 1) == pytest.approx((0.025, 1.0))

    @pytest.mark.parametrize("share", [0.02, 0.3, 0.5, 0.97])
    @pytest.mark.parametrize("of", [1, 8, 30, 121])
    def test_truth_is_held_at_least_as_often_as_promised(self, of: int, share: float) -> None:
        """Over all outcomes, each as often as it happens."""
        held = [low <= share <= high for low, high in (clopper_pearson(hits, of) for hits in range(of + 1))]
        assert sum(binom.pmf(hits, of, share) for hits in range(of + 1) if held[hits]) >= 0.95

    @pytest.mark.parametrize("seed", range(3))
    def test_simulated_audits_hold_the_truth(self, seed: int) -> None:
        draw = random.Random(seed)
        trials, held = 400, 0
        for _ in range(trials):
            share, of = draw.uniform(0.5, 1), draw.randint(1, 60)
            low, high = clopper_pearson(sum(draw.random() < share for _ in range(of)), of)
            held += low <= share <= high
        assert held / trials >= 0.95

    @pytest.mark.parametrize(("hits", "of"), [(0, 0), (-1, 5), (6, 5)])
    def test_what_is_no_count_is_refused(self, hits: int, of: int) -> None:
        with pytest.raises(ValueError, match="is no count"):
            clopper_pearson(hits, of)


class TestAtLeast:
    @pytest.mark.parametrize("share", [0.0, 1e-9, 0.2, 0.5, 0.9, 1.0])
    @pytest.mark.parametrize(("hits", "of"), [*COUNTS, (8, 10), (9_000, 10_000)])
    def test_is_the_tail_of_the_binomial_distribution(self, hits: int, of: int, share: float) -> None:
        assert at_least(hits, of, share) == pytest.approx(binom.sf(hits - 1, of, share), rel=1e-8, abs=1e-13)


class TestNeeded:
    @pytest.mark.parametrize("share", [0.0, 0.5, 0.93, 1.0])
    def test_is_the_first_number_that_is_enough(self, share: float) -> None:
        def half_width(of: int) -> float:
            low, high = clopper_pearson(round(share * of), of)
            return (high - low) / 2

        of = needed(share, 0.05)
        assert half_width(of) <= 0.05 < half_width(of - 1)
