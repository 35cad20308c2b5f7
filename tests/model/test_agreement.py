"""What neighbours say, in a collection of four groups whose captions are known."""

from collections.abc import Callable

import numpy as np
import pytest

import model.agreement
import model.positions
from model.agreement import Agreement
from model.pairs import Pairs

GROUPS, EACH = 4, 60
COUNT = GROUPS * EACH
# Cosine of two corners of a tetrahedron, which the centred groups are.
APART = -1 / 3
# Whose image and whose caption a pair has: its own; and those of a probe at the end, made of the pairs 0 and 1.
THEMSELVES = np.arange(COUNT + 1), np.arange(COUNT + 1)
MADE_OF = np.append(np.arange(COUNT), 0), np.append(np.arange(COUNT), 1)


def grouped(image_groups: np.ndarray, caption_groups: np.ndarray) -> Pairs:
    """Images and captions are their group, with a trace of their own."""
    rng = np.random.default_rng(0)
    ids = np.arange(len(image_groups))
    sides = [
        (np.eye(GROUPS)[groups] + 0.01 * rng.normal(size=(len(groups), GROUPS))).astype(np.float32)
        for groups in (image_groups, caption_groups)
    ]
    return Pairs(sides[0], sides[1], ids, ids)


def in_order() -> np.ndarray:
    return np.arange(COUNT) % GROUPS


def trust_in(*rows: int) -> np.ndarray:
    trust = np.zeros(COUNT, np.float32)
    trust[list(rows)] = 1.0
    return trust


@pytest.fixture(scope="module")
def mismatched() -> Pairs:
    """Pair 0 has the caption of another group; pair 1 is one of those."""
    captions = in_order()
    captions[0] = 1
    return grouped(in_order(), captions)


class TestAgreement:
    def test_ways_are_named_by_space_and_side(self, mismatched: Pairs) -> None:
        assert Agreement(mismatched, COUNT, THEMSELVES).names == [
            "encoder image > encoder caption",
            "encoder caption > encoder image",
        ]

    def test_learned_spaces_are_asked_too(self, mismatched: Pairs) -> None:
        learned = (mismatched.images[:, ::-1], mismatched.captions[:, ::-1])
        agreement = Agreement(mismatched, COUNT, THEMSELVES, learned)
        said = agreement.asked(np.ones(COUNT, np.float32))
        assert said.shape == (COUNT, len(agreement.names)) == (COUNT, 8)
        assert len(set(agreement.names)) == 8
        np.testing.assert_allclose(said[0], APART, atol=0.05)
        np.testing.assert_allclose(said[1:], 1.0, atol=0.05)

    def test_neighbours_of_a_match_agree_and_of_a_mismatch_do_not(self, mismatched: Pairs) -> None:
        said = Agreement(mismatched, COUNT, THEMSELVES).asked(np.ones(COUNT, np.float32))
        np.testing.assert_allclose(said[0], APART, atol=0.05)
        np.testing.assert_allclose(said[1:], 1.0, atol=0.05)

    def test_distrusted_neighbours_are_silent(self) -> None:
        """Half of a group's captions are wrong: the neighbours are of two minds until the wrong ones are distrusted."""
        captions = in_order()
        is_wrong = (captions == 0) & (np.arange(COUNT) >= COUNT // 2)
        captions[is_wrong] = 1
        agreement = Agreement(grouped(in_order(), captions), COUNT, THEMSELVES)
        matching = ~is_wrong & (in_order() == 0)
        # Wrong captions also move the mean, and with it the angles: only the direction is asked for.
        undecided = agreement.asked(np.ones(COUNT, np.float32))[matching, 0]
        decided = agreement.asked((~is_wrong).astype(np.float32))[matching, 0]
        assert undecided.max() < 0.7
        np.testing.assert_allclose(decided, 1.0, atol=0.05)

    def test_doubt_counts_by_its_measure(self) -> None:
        """One neighbour says 1, another APART, the second with half the trust: (1 + APART / 2) / 1.5."""
        captions = in_order()
        captions[4] = 1
        images = grouped(in_order(), in_order()).images
        images[[0, 4, 8]] = images[0]  # equally near
        pairs = grouped(in_order(), captions)
        trust = trust_in(8)
        trust[4] = 0.5
        said = Agreement(Pairs(images, pairs.captions, pairs.image_ids, pairs.caption_ids), COUNT, THEMSELVES).asked(
            trust
        )
        assert said[0, 0] == pytest.approx((1 + APART / 2) / 1.5, abs=0.05)

    def test_nobody_to_trust_says_nothing(self, mismatched: Pairs) -> None:
        said = Agreement(mismatched, COUNT, THEMSELVES).asked(np.zeros(COUNT, np.float32))
        assert not said.any()

    def test_far_neighbours_hardly_count(self) -> None:
        """Most of those that the ten pairs of a small group ask are of other groups, and have other captions."""
        groups = np.where(np.arange(COUNT) < 10, 0, 1 + np.arange(COUNT) % (GROUPS - 1))
        said = Agreement(grouped(groups, groups), COUNT, THEMSELVES).asked(np.ones(COUNT, np.float32))
        np.testing.assert_allclose(said[:10], 1.0, atol=0.05)

    @pytest.mark.parametrize("contents", [1, 2, 3, 4])
    def test_few_contents_that_are_listed_often_ask_one_another(self, contents: int) -> None:
        pairs = grouped(in_order(), in_order()).taken(np.arange(COUNT) % contents)
        said = Agreement(pairs, COUNT, THEMSELVES).asked(np.ones(COUNT, np.float32))
        assert np.isfinite(said).all()
        if contents > 1:
            assert said.max() < 0.5  # with itself a pair would agree


class TestOwnPairs:
    def probed(self) -> Pairs:
        """A probe at the end: the image of pair 0, the caption of pair 1."""
        plain = grouped(in_order(), in_order())
        return Pairs(plain.images[MADE_OF[0]], plain.captions[MADE_OF[1]], *MADE_OF)

    def test_a_pair_does_not_ask_itself(self, mismatched: Pairs) -> None:
        agreement = Agreement(mismatched, COUNT, THEMSELVES)
        for row in (0, 1, COUNT - 1):
            assert not agreement.asked(trust_in(row))[row].any()

    def test_a_probe_does_not_ask_the_pairs_it_was_made_of(self) -> None:
        said = Agreement(self.probed(), COUNT, MADE_OF).asked(trust_in(0, 1))
        assert not said[COUNT].any()

    def test_unless_told_it_would_ask_them(self) -> None:
        said = Agreement(self.probed(), COUNT, THEMSELVES).asked(trust_in(0, 1))
        assert (said[COUNT] != 0).all()

    def test_a_pair_does_not_ask_its_repeats(self, mismatched: Pairs) -> None:
        """Pair 0, a mismatch, is listed three times more: it would find itself, and agree."""
        rows = np.append(np.arange(COUNT), [0, 0, 0])
        agreement = Agreement(mismatched.taken(rows), COUNT + 3, (rows, rows))
        assert len(agreement.references) == COUNT
        said = agreement.asked(np.ones(COUNT, np.float32))
        np.testing.assert_allclose(said[[0, COUNT, COUNT + 2]], APART, atol=0.05)

    def test_its_neighbours_contradict_a_probe(self) -> None:
        said = Agreement(self.probed(), COUNT, MADE_OF).asked(np.ones(COUNT, np.float32))
        np.testing.assert_allclose(said[COUNT], APART, atol=0.05)

    def test_nobody_asks_a_probe(self) -> None:
        agreement = Agreement(self.probed(), COUNT, MADE_OF)
        np.testing.assert_array_equal(agreement.references, np.arange(COUNT))


class TestReferences:
    def test_large_collections_are_known_by_some(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(model.agreement, "MOST_REFERENCES", 119)
        captions = np.arange(COUNT) // EACH
        images = captions.copy()
        images[7] = 3
        agreement = Agreement(grouped(images, captions), COUNT, THEMSELVES)
        assert len(agreement.references) == 119
        said = agreement.asked(np.ones(119, np.float32))
        np.testing.assert_allclose(said[7], APART, atol=0.1)
        np.testing.assert_allclose(np.delete(said, 7, axis=0), 1.0, atol=0.1)

    def test_blocks_make_no_difference(self, mismatched: Pairs, monkeypatch: pytest.MonkeyPatch) -> None:
        trust = np.linspace(0, 1, COUNT, dtype=np.float32)
        whole = Agreement(mismatched, COUNT, THEMSELVES).asked(trust)
        monkeypatch.setattr(model.positions, "BLOCK", 7)
        np.testing.assert_allclose(Agreement(mismatched, COUNT, THEMSELVES).asked(trust), whole, atol=1e-5)

    def test_progress_rises_to_one(self, mismatched: Pairs) -> None:
        shares: list[float] = []
        note: Callable[[float], None] = shares.append
        Agreement(mismatched, COUNT, THEMSELVES, on_progress=note)
        assert shares == sorted(shares)
        assert shares[-1] == 1.0
