"""Linear maps between images and captions that are linear in the same hidden things, seen with some noise."""

import numpy as np
import pytest

import model.correlation
from model.correlation import Correlation
from model.metrics import auroc
from model.pairs import Pairs

COUNT, HIDDEN = 400, 12
ALL = np.ones(COUNT, np.float32)


def linear_pairs(shown: np.ndarray, said: np.ndarray) -> Pairs:
    """Image i shows thing shown[i], caption i speaks of thing said[i]; equal numbers are equal content."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(int(max(shown.max(), said.max())) + 1, HIDDEN))
    images, captions = (
        (hidden @ rng.normal(size=(HIDDEN, width)) + 0.5 * rng.normal(size=(len(hidden), width))).astype(np.float32)
        for width in (40, 30)
    )
    return Pairs(images[shown], captions[said], shown.astype(np.int64), said.astype(np.int64))


def themselves(count: int) -> tuple[np.ndarray, np.ndarray]:
    return np.arange(count), np.arange(count)


def mismatched(count: int) -> tuple[Pairs, np.ndarray]:
    """The first `count` pairs have each other's captions."""
    things = np.arange(COUNT)
    said = things.copy()
    said[:count] = np.roll(things[:count], 1)
    return linear_pairs(things, said), things < count


def with_probe(image: int, caption: int) -> tuple[Pairs, tuple[np.ndarray, np.ndarray]]:
    """Matching pairs, and behind them one with the image and the caption of two of them."""
    shown, said = np.append(np.arange(COUNT), image), np.append(np.arange(COUNT), caption)
    return linear_pairs(shown, said), (shown, said)


class TestCorrelation:
    def test_mismatches_have_lower_odds(self) -> None:
        pairs, is_mismatch = mismatched(120)
        assert auroc(Correlation(pairs, COUNT, themselves(COUNT)).asked(ALL).pairs, is_mismatch) > 0.95

    def test_maps_learn_more_from_whom_to_trust(self) -> None:
        pairs, is_mismatch = mismatched(370)
        correlation = Correlation(pairs, COUNT, themselves(COUNT))
        believed = auroc(correlation.asked(ALL).pairs, is_mismatch)
        assert auroc(correlation.asked((~is_mismatch).astype(np.float32)).pairs, is_mismatch) > believed + 0.05

    def test_no_pair_is_judged_by_a_map_that_saw_it(self) -> None:
        """Whether it is trusted itself changes nothing for it, but something for others."""
        pairs, _ = mismatched(120)
        correlation = Correlation(pairs, COUNT, themselves(COUNT))
        without = ALL.copy()
        without[7] = 0
        before, after = correlation.asked(ALL).pairs, correlation.asked(without).pairs
        assert after[7] == pytest.approx(before[7], abs=1e-5)
        assert np.abs(after - before).max() > 1e-3

    def test_copies_of_a_pair_do_not_vouch_for_each_other(self) -> None:
        things = np.arange(COUNT)
        things[8] = 7
        correlation = Correlation(linear_pairs(things, things), COUNT, themselves(COUNT))
        without = ALL.copy()
        without[8] = 0
        assert correlation.asked(without).pairs[7] == pytest.approx(correlation.asked(ALL).pairs[7], abs=1e-5)

    @pytest.mark.parametrize("source", [20, 330])
    def test_no_probe_is_judged_by_a_map_that_saw_its_sources(self, source: int) -> None:
        pairs, sources = with_probe(image=20, caption=330)
        correlation = Correlation(pairs, COUNT, sources)
        without = ALL.copy()
        without[source] = 0
        assert correlation.asked(without).pairs[COUNT] == pytest.approx(correlation.asked(ALL).pairs[COUNT], abs=1e-5)

    def test_probes_are_not_learned_from(self) -> None:
        pairs, sources = with_probe(image=20, caption=330)
        alone = linear_pairs(np.arange(COUNT), np.arange(COUNT))
        asked = Correlation(pairs, COUNT, sources)
        assert len(asked.references) == COUNT
        # Groups are numbered differently with a probe among them; the collection is judged alike all the same.
        told = np.corrcoef(
            asked.asked(ALL).pairs[:COUNT], Correlation(alone, COUNT, themselves(COUNT)).asked(ALL).pairs
        )
        assert told[0, 1] > 0.98

    def test_content_of_the_pair_itself_is_no_negative(self) -> None:
        """Every image is there twice: its other caption must not speak against it."""
        shown = np.arange(COUNT) // 2
        odds = Correlation(linear_pairs(shown, shown), COUNT, themselves(COUNT)).asked(ALL).pairs
        assert np.median(odds) > 0

    def test_one_and_the_same_content_says_nothing(self) -> None:
        things = np.zeros(COUNT, np.int64)
        assert (Correlation(linear_pairs(things, things), COUNT, themselves(COUNT)).asked(ALL).pairs == 0).all()

    def test_nobody_trusted_is_no_error(self) -> None:
        pairs, _ = mismatched(120)
        assert np.isfinite(Correlation(pairs, COUNT, themselves(COUNT)).asked(np.zeros(COUNT, np.float32)).pairs).all()

    def test_large_collections_are_sampled(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(model.correlation, "MOST_REFERENCES", 150)
        pairs, is_mismatch = mismatched(120)
        correlation = Correlation(pairs, COUNT, themselves(COUNT))
        assert len(correlation.references) == 150
        assert auroc(correlation.asked(np.ones(150, np.float32)).pairs, is_mismatch) > 0.9


class TestKnownMismatches:
    def test_they_score_like_unknown_ones(self) -> None:
        """What the mismatched captions really speak of is not in the collection, as on the web."""
        things = np.arange(COUNT)
        is_mismatch = things < 200
        pairs = linear_pairs(things, np.where(is_mismatch, COUNT + things, things))
        odds = Correlation(pairs, COUNT, themselves(COUNT)).asked(ALL)
        both = np.concatenate([odds.pairs[is_mismatch], odds.mismatches])
        is_known = np.arange(len(both)) >= is_mismatch.sum()
        assert len(odds.mismatches) > 0.9 * COUNT
        assert auroc(both, is_known) == pytest.approx(0.5, abs=0.06)

    def test_none_has_an_image_and_a_caption_that_belong_together(self) -> None:
        """Only two things in the whole collection: half of all exchanges change nothing, and are left out."""
        things = np.arange(COUNT) % 2
        correlation = Correlation(linear_pairs(things, things), COUNT, themselves(COUNT))
        # Copies of a pair are one group, so there are two groups and both exchanges of them.
        assert len(correlation.asked(ALL).mismatches) == 2

    def test_none_is_judged_by_a_map_that_saw_its_sources(self) -> None:
        """Whom it was made of is not told; but every pair is in one, and no more than the two made of a pair may be
        deaf to it."""
        pairs, _ = mismatched(120)
        correlation = Correlation(pairs, COUNT, themselves(COUNT))
        without = ALL.copy()
        without[7] = 0
        change = np.abs(correlation.asked(without).mismatches - correlation.asked(ALL).mismatches)
        deaf = change < 1e-5
        assert 2 <= deaf.sum() < len(change) / 4
        assert (change > 1e-4).sum() > len(change) / 2

    def test_a_single_group_has_none(self) -> None:
        things = np.zeros(COUNT, np.int64)
        odds = Correlation(linear_pairs(things, things), COUNT, themselves(COUNT)).asked(ALL)
        assert len(odds.mismatches) == 0
