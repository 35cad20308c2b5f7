"""Which evidence leads, by how many matches there are to learn from."""

import numpy as np
import pytest

from model.fusion import Leader
from model.kinds import Kinds
from model.linear_maps import NAMES as CORRELATIONS
from model.metrics import auroc
from model.used import JOINT, JOINT_LEAD, TOGETHER, Used, share_of_neighbours, used_of

NEIGHBOURS = ["image > caption", "caption > image"]
NAMES = ["probability a", *CORRELATIONS, *NEIGHBOURS]
RANDOM_ONLY, WITH_NEAR = Kinds(1.0, 0.0), Kinds(0.2, 0.2)


def used(matches: float, names: list[str] = NAMES, kinds: Kinds = RANDOM_ONLY) -> Used:
    return used_of(names, NEIGHBOURS, kinds, near_probes=100, matches=matches)


class TestLead:
    def test_linear_maps_lead_where_matches_are_enough(self) -> None:
        found = used(600)
        assert found.names == NAMES
        assert found.leader == Leader(NAMES.index("correlation"))

    def test_neighbours_lead_along_where_they_are_few(self) -> None:
        found = used(599)
        assert found.names == [*NAMES, TOGETHER]
        assert found.leader == Leader(len(NAMES))

    def test_the_fewer_the_more_neighbours_lead(self) -> None:
        shares = [share_of_neighbours(matches) for matches in (0, 100, 200, 350, 500, 600, 10_000)]
        assert shares == pytest.approx([0.75, 0.75, 0.75, 0.5, 0.2, 0.0, 0.0])

    @pytest.mark.parametrize("matches", [50, 5000])
    def test_an_encoder_of_both_sides_always_leads(self, matches: float) -> None:
        found = used(matches, [*NAMES, JOINT])
        assert found.names == [*NAMES, JOINT]
        assert found.leader == Leader(len(NAMES), JOINT_LEAD)

    def test_near_misses_with_few_probes_are_left_to_the_best_evidence(self) -> None:
        found = used_of(NAMES, NEIGHBOURS, WITH_NEAR, near_probes=20, matches=50)
        assert found.names == ["probability a", "correlation among look-alikes"]
        assert found.leader is None
        assert (found.is_doubtful, found.is_signed) == (True, False)

    def test_many_near_probes_may_find_what_speaks_against_itself(self) -> None:
        found = used_of(NAMES, NEIGHBOURS, WITH_NEAR, near_probes=20 * len(NAMES), matches=5000)
        assert (found.is_doubtful, found.is_signed) == (False, True)


class TestTable:
    @pytest.fixture
    def is_probe(self) -> np.ndarray:
        return np.arange(700) >= 500

    @pytest.fixture
    def found(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(0)
        return {name: (3 + 2 * rng.normal(size=700)).astype(np.float32) for name in NAMES}

    def test_every_column_is_standardised_over_the_pairs(
        self, found: dict[str, np.ndarray], is_probe: np.ndarray
    ) -> None:
        for matches in (50, 5000):
            one = used(matches)
            table = one.table(found, is_probe)
            assert table.shape == (700, len(one.names))
            assert table[~is_probe].mean(axis=0) == pytest.approx(np.zeros(len(one.names)), abs=1e-5)
            assert table[~is_probe].std(axis=0) == pytest.approx(np.ones(len(one.names)), abs=1e-5)

    def test_only_evidence_that_counts_is_taken(self, found: dict[str, np.ndarray], is_probe: np.ndarray) -> None:
        few = used_of(NAMES, NEIGHBOURS, WITH_NEAR, near_probes=20, matches=50)
        table = few.table(found, is_probe)
        assert np.array_equal(table, used(5000).table(found, is_probe)[:, [0, 2]])

    def test_together_they_know_more_than_either(self, is_probe: np.ndarray) -> None:
        rng = np.random.default_rng(1)
        is_mismatch = is_probe | (rng.random(700) < 0.5)
        found = {name: (rng.normal(size=700) - 1.5 * is_mismatch).astype(np.float32) for name in NAMES}
        table, pairs = used(300).table(found, is_probe), ~is_probe
        *others, together = (auroc(column[pairs], is_mismatch[pairs]) for column in table.T)
        assert together > max(others)
