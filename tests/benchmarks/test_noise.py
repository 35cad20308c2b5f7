"""Mismatches on purpose: as many as asked for, none by chance right, the same for the same seed."""

import numpy as np
import pytest

from benchmarks.protocol.noise import NEAREST, near_misses, shuffled

OWN = np.repeat(np.arange(60), 5)  # 300 captions of 60 images


class TestShuffled:
    @pytest.mark.parametrize("seed", range(10))
    @pytest.mark.parametrize("rate", [0.2, 0.8, 1.0])
    def test_exactly_the_share_is_mismatched(self, rate: float, seed: int) -> None:
        assert (shuffled(OWN, rate, seed) != OWN).sum() == round(rate * len(OWN))

    def test_images_are_permuted(self) -> None:
        assert sorted(shuffled(OWN, 0.4, 0)) == sorted(OWN)

    def test_chosen_by_the_seed_alone(self) -> None:
        chosen = np.random.default_rng(7).choice(300, size=120, replace=False)
        assert sorted(np.flatnonzero(shuffled(OWN, 0.4, 7) != OWN)) == sorted(chosen)
        assert shuffled(OWN, 0.4, 7).tolist() == shuffled(OWN, 0.4, 7).tolist()
        assert shuffled(OWN, 0.4, 7).tolist() != shuffled(OWN, 0.4, 8).tolist()

    def test_no_noise_changes_nothing(self) -> None:
        assert shuffled(OWN, 0.0, 0).tolist() == OWN.tolist()

    def test_half_of_one_image_still_works(self) -> None:
        # The only way is that both halves change places.
        own = np.array([0, 0, 0, 1, 2, 3])
        given = shuffled(own, 1.0, 0)
        assert (given != own).all()
        assert sorted(given[:3]) == [1, 2, 3]

    @pytest.mark.parametrize("own", [[0], [0, 0, 1]])
    def test_too_few_different_images_are_refused(self, own: list[int]) -> None:
        with pytest.raises(ValueError, match="too few different images"):
            shuffled(np.array(own), 1.0, 0)

    @pytest.mark.parametrize("rate", [-0.1, 1.1, float("nan")])
    def test_a_rate_that_is_no_share_is_refused(self, rate: float) -> None:
        with pytest.raises(ValueError, match="between 0 and 1"):
            shuffled(OWN, rate, 0)


class TestNearMisses:
    FEATURES = np.arange(120, dtype=np.float16)[:, None]  # on a line: the nearest are the next ones
    OWN = np.repeat(np.arange(120), 2)

    def test_each_is_one_of_the_nearest_and_none_is_right(self) -> None:
        given = near_misses(self.OWN, self.FEATURES, 0.5, 3)
        changed = given != self.OWN
        assert changed.sum() == 120
        for own, other in zip(self.OWN[changed], given[changed], strict=True):
            others = np.delete(np.arange(120), own)
            farthest = np.sort(np.abs(others - own))[NEAREST - 1]
            assert 0 < abs(other - own) <= farthest

    def test_same_pairs_are_chosen_as_for_random_noise(self) -> None:
        hard, random = near_misses(self.OWN, self.FEATURES, 0.3, 5), shuffled(self.OWN, 0.3, 5)
        assert np.flatnonzero(hard != self.OWN).tolist() == np.flatnonzero(random != self.OWN).tolist()

    def test_too_few_images_are_refused(self) -> None:
        with pytest.raises(ValueError, match="more than 50"):
            near_misses(np.arange(50), self.FEATURES, 0.5, 0)
