"""Known mismatches made by exchanging images and captions: who exchanges with whom, and who must not judge whom."""

import numpy as np
import pytest

import model.exchanges
from model.exchanges import Exchanges, exchange
from model.pairs import Pairs
from model.probes import NEAR, RANDOM

COUNT = 300
# Images lie on a line, so who resembles whom is known.
LINE = np.stack([np.ones(COUNT), np.linspace(-1, 1, COUNT)], axis=1).astype(np.float32)


def made_of(images: np.ndarray, captions: np.ndarray, probes: tuple[np.ndarray, np.ndarray] | None = None) -> Exchanges:
    """Pairs by the numbers of their contents, and probes behind them by their sources."""
    count = len(images)
    rows = np.arange(count)
    sources = (rows, rows) if probes is None else (np.append(rows, probes[0]), np.append(rows, probes[1]))
    nothing = np.zeros((len(sources[0]), 1), np.float32)
    pairs = Pairs(nothing, nothing, images[sources[0]], captions[sources[1]])
    return exchange(pairs, count, sources, lambda some: LINE[images[some] % COUNT])


@pytest.fixture(scope="module")
def made() -> Exchanges:
    return made_of(np.arange(COUNT), np.arange(COUNT))


class TestExchange:
    def test_there_are_about_as_many_of_each_kind_as_pairs(self, made: Exchanges) -> None:
        for kind in (RANDOM, NEAR):
            assert 0.8 * COUNT < (made.kinds == kind).sum() <= COUNT

    def test_no_image_and_no_caption_is_used_twice_in_a_kind(self, made: Exchanges) -> None:
        for kind in (RANDOM, NEAR):
            for side in (made.shown, made.said):
                assert len(np.unique(side[made.kinds == kind])) == (made.kinds == kind).sum()

    def test_near_ones_resemble_and_random_ones_do_not(self, made: Exchanges) -> None:
        distance = np.abs(made.shown - made.said)
        assert distance[made.kinds == NEAR].max() <= 10  # the ten nearest of a pair, on both sides of it
        assert np.median(distance[made.kinds == RANDOM]) > COUNT / 8

    def test_who_is_exchanged_is_of_one_party(self, made: Exchanges) -> None:
        assert (made.parties[made.shown] == made.parties[made.said]).all()

    def test_parties_are_small(self, made: Exchanges) -> None:
        assert np.bincount(made.parties).max() <= 4

    def test_a_probe_is_of_the_party_of_its_sources(self) -> None:
        made = made_of(np.arange(COUNT), np.arange(COUNT), (np.array([5, 9]), np.array([250, 9])))
        assert made.parties[COUNT] == made.parties[5] == made.parties[250]
        assert made.parties[COUNT + 1] == made.parties[9]

    def test_copies_of_a_pair_are_of_one_party_and_exchange_nothing(self) -> None:
        things = np.arange(COUNT) // 2
        made = made_of(things, things)
        assert (made.parties[0::2] == made.parties[1::2]).all()
        assert (things[made.shown] != things[made.said]).all()

    def test_captions_of_one_image_are_not_exchanged(self) -> None:
        images = np.arange(COUNT) // 3
        made = made_of(images, np.arange(COUNT))
        assert (images[made.shown] != images[made.said]).all()
        assert (made.kinds == NEAR).sum() > COUNT / 2

    @pytest.mark.parametrize("different", [1, 2, 3])
    def test_hardly_any_content_is_no_error(self, different: int) -> None:
        things = np.arange(COUNT) % different
        made = made_of(things, things)
        assert (things[made.shown] != things[made.said]).all()
        assert len(made.kinds) <= 2 * different

    def test_large_collections_exchange_a_sample(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(model.exchanges, "_MOST", 100)
        made = made_of(np.arange(COUNT), np.arange(COUNT))
        assert max((made.kinds == kind).sum() for kind in (RANDOM, NEAR)) <= 100
        assert len(made.parties) == COUNT
        assert len(np.unique(made.shown)) <= 100

    def test_the_same_again(self, made: Exchanges) -> None:
        again = made_of(np.arange(COUNT), np.arange(COUNT))
        for name in ("shown", "said", "kinds", "parties"):
            np.testing.assert_array_equal(getattr(made, name), getattr(again, name))
