"""Linear maps between images and captions that are linear in the same hidden things, seen with some noise."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import model.correlation
import model.linear_maps
from model.calibration import calibrate
from model.correlation import Correlation, Odds
from model.linear_maps import LastingMaps
from model.metrics import auroc
from model.pairs import Pairs
from model.probes import NEAR, RANDOM

COUNT, HIDDEN = 400, 12
ALL = np.ones(COUNT, np.float32)


def linear_pairs(shown: np.ndarray, said: np.ndarray, hidden: int = HIDDEN, blur: float = 0.5) -> Pairs:
    """Image i shows thing shown[i], caption i speaks of thing said[i]; equal numbers are equal content."""
    rng = np.random.default_rng(0)
    things = rng.normal(size=(int(max(shown.max(), said.max())) + 1, hidden))
    images, captions = (
        (things @ rng.normal(size=(hidden, width)) + blur * rng.normal(size=(len(things), width))).astype(np.float32)
        for width in (max(40, 2 * hidden), max(30, 3 * hidden // 2))
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
        assert auroc(Correlation(pairs, COUNT, themselves(COUNT)).asked(ALL).pairs[:, 0], is_mismatch) > 0.95

    def test_maps_learn_more_from_whom_to_trust(self) -> None:
        pairs, is_mismatch = mismatched(370)
        correlation = Correlation(pairs, COUNT, themselves(COUNT))
        believed = auroc(correlation.asked(ALL).pairs[:, 0], is_mismatch)
        assert auroc(correlation.asked((~is_mismatch).astype(np.float32)).pairs[:, 0], is_mismatch) > believed + 0.05

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
            asked.asked(ALL).pairs[:COUNT, 0], Correlation(alone, COUNT, themselves(COUNT)).asked(ALL).pairs[:, 0]
        )
        assert told[0, 1] > 0.98

    @pytest.mark.parametrize("count", [64, 150, 500])
    def test_many_probes_among_few_pairs_leave_something_to_learn_from(self, count: int) -> None:
        """200 probes tie everything together: left out with all that is tied to it, a pair would leave nothing."""
        rng = np.random.default_rng(1)
        shown, said = (np.append(np.arange(count), rng.permutation(np.resize(np.arange(count), 200))) for _ in range(2))
        is_wrong = shown != said
        asked = Correlation(linear_pairs(shown, said), count, (shown, said)).asked(np.ones(count, np.float32))
        assert auroc(asked.pairs[:, 0], is_wrong) > 0.8
        assert (asked.kinds == RANDOM).sum() > count / 2

    @pytest.mark.parametrize("source", [0, 1])
    def test_nor_has_any_map_seen_the_sources_of_many_probes(self, source: int) -> None:
        rng = np.random.default_rng(1)
        shown, said = (np.append(np.arange(COUNT), rng.permutation(COUNT)) for _ in range(2))
        correlation = Correlation(linear_pairs(shown, said), COUNT, (shown, said))
        without = ALL.copy()
        without[(shown, said)[source][COUNT + 7]] = 0
        before, after = correlation.asked(ALL).pairs, correlation.asked(without).pairs
        assert after[COUNT + 7] == pytest.approx(before[COUNT + 7], abs=1e-5)
        assert np.abs(after - before)[COUNT:].max() > 1e-3

    def test_content_of_the_pair_itself_is_no_negative(self) -> None:
        """Every image is there twice: its other caption must not speak against it."""
        shown = np.arange(COUNT) // 2
        odds = Correlation(linear_pairs(shown, shown), COUNT, themselves(COUNT)).asked(ALL).pairs
        assert (np.median(odds, axis=0) > 0).all()

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
        assert auroc(correlation.asked(np.ones(150, np.float32)).pairs[:, 0], is_mismatch) > 0.9


class TestStrangers:
    def test_mismatches_score_like_known_ones(self) -> None:
        """Nine of ten captions speak of what is nowhere shown. Who trusts by maps that saw them thinks better of them
        than of known mismatches, and finds too few; strangers do not."""
        count = 1500
        things = np.arange(count)
        is_mismatch = things < 0.9 * count
        pairs = linear_pairs(things, np.where(is_mismatch, count + things, things), hidden=40, blur=6.0)
        correlation = Correlation(pairs, count, themselves(count))
        seen = correlation.asked(calibrated(correlation.asked(np.ones(count, np.float32)))[0])
        told = correlation.asked_strangers()
        assert auroc(told.pairs[:, 0], is_mismatch) > 0.85
        assert share_above_known(seen, is_mismatch) > 0.55
        assert share_above_known(told, is_mismatch) == pytest.approx(0.5, abs=0.02)
        assert calibrated(seen)[1] < 0.8
        assert calibrated(told)[1] == pytest.approx(0.9, abs=0.03)

    def test_nobody_who_is_asked_knows_whom_the_pair_was_matched_with(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Two of one part exchange their captions: that changes what is said of other parts, nothing in their own."""
        monkeypatch.setattr(model.correlation, "_COMPARED", COUNT)  # whoever says it, a caption is a rival
        things = np.arange(COUNT)
        said = np.where(things < 300, COUNT + things, things)
        before = Correlation(linear_pairs(things, said, hidden=40, blur=4.0), COUNT, themselves(COUNT))
        part = model.correlation._parts(before._divisions[0], model.correlation._FOLDS, 0)
        own = np.flatnonzero(part == part[7])
        said[own[:2]] = said[own[1::-1]]
        after = Correlation(linear_pairs(things, said, hidden=40, blur=4.0), COUNT, themselves(COUNT))
        change = np.abs(after.asked_strangers().pairs - before.asked_strangers().pairs)[:, 0]
        assert change[own[2:]].max() < 1e-3
        assert change[part != part[7]].max() > 0.02
        assert change[own[:2]].min() > 1

    def test_a_persons_word_is_taken_as_given(self) -> None:
        pairs, _ = mismatched(120)
        anchors = np.zeros(COUNT, np.int8)
        anchors[:10], anchors[200:210] = 1, -1  # against the evidence
        correlation = Correlation(replace(pairs, anchors=anchors), COUNT, themselves(COUNT))
        among = np.arange(COUNT) % model.correlation._PARTS
        with torch.inference_mode():
            trust = correlation._come_to_trust(correlation.exchanges, np.where(among == 0, -1, among)).numpy()
        assert not trust[among == 0].any()
        assert (trust[(anchors > 0) & (among > 0)] == 1).all()
        assert (trust[(anchors < 0) & (among > 0)] == 0).all()
        assert trust[120:200][among[120:200] > 0].mean() > 0.8
        assert trust[10:120].mean() < 0.2

    def test_are_asked_once(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pairs, _ = mismatched(120)
        correlation = Correlation(pairs, COUNT, themselves(COUNT))
        first = correlation.asked_strangers()
        monkeypatch.setattr(Correlation, "_come_to_trust", None)
        assert correlation.asked_strangers() is first

    def test_can_be_stopped(self) -> None:
        class Stop(Exception):
            pass

        def stop() -> None:
            raise Stop

        pairs, _ = mismatched(120)
        with pytest.raises(Stop):
            Correlation(pairs, COUNT, themselves(COUNT)).asked_strangers(stop)

    def test_of_a_large_collection_some_are_asked(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(model.correlation, "MOST_REFERENCES", 150)
        pairs, is_mismatch = mismatched(120)
        odds = Correlation(pairs, COUNT, themselves(COUNT)).asked_strangers()
        assert auroc(odds.pairs[:, 0], is_mismatch) > 0.9

    def test_probes_are_judged_too(self) -> None:
        rng = np.random.default_rng(1)
        shown, said = (np.append(np.arange(COUNT), rng.permutation(COUNT)) for _ in range(2))  # in two portions
        odds = Correlation(linear_pairs(shown, said), COUNT, (shown, said)).asked_strangers().pairs[:, 0]
        assert auroc(odds, shown != said) > 0.95

    def test_one_and_the_same_content_says_nothing(self) -> None:
        things = np.zeros(COUNT, np.int64)
        odds = Correlation(linear_pairs(things, things), COUNT, themselves(COUNT)).asked_strangers()
        assert (odds.pairs == 0).all()


def calibrated(odds: Odds) -> tuple[np.ndarray, float]:
    """P(match) of the pairs, and the noise rate, by known random mismatches."""
    known = odds.mismatches[odds.kinds == RANDOM, 0].astype(float)
    scores = odds.pairs[:, 0].astype(float)
    found = calibrate(scores, known, np.ones(len(known)), 0, 2)
    return found.confidence(scores).astype(np.float32), found.noise_rate.estimate


def share_above_known(odds: Odds, is_mismatch: np.ndarray) -> float:
    """How often a real mismatch scores higher than a known one."""
    real, known = odds.pairs[is_mismatch, 0], odds.mismatches[odds.kinds == RANDOM, 0]
    return auroc(np.concatenate([real, known]), np.arange(len(real) + len(known)) >= len(real))


class TestLookAlikes:
    def odds(self, monkeypatch: pytest.MonkeyPatch, share: float) -> np.ndarray:
        """Of both kinds at the same temperature."""
        monkeypatch.setattr(model.linear_maps, "_LOOK_ALIKE", share)
        monkeypatch.setattr(model.linear_maps, "_LOOK_ALIKE_TEMPERATURE", model.linear_maps._TEMPERATURE)
        return Correlation(mismatched(120)[0], COUNT, themselves(COUNT)).asked(ALL).pairs

    def test_against_all_others_they_are_the_odds_against_all_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        odds = self.odds(monkeypatch, 1.0)
        np.testing.assert_allclose(odds[:, 1], odds[:, 0], rtol=1e-4, atol=1e-4)

    def test_look_alikes_are_stronger_rivals_than_as_many_others(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """A tenth of all rivals would leave odds higher by log 10 if they were any; a match has its own among them."""
        odds = self.odds(monkeypatch, 0.1)
        gain = (odds[:, 1] - odds[:, 0])[120:]
        assert (gain > 0).all()
        assert gain.mean() < 0.6 * np.log(10)


class TestKnownMismatches:
    def test_random_ones_score_like_unknown_ones(self) -> None:
        """What the mismatched captions really speak of is not in the collection, as on the web."""
        things = np.arange(COUNT)
        is_mismatch = things < 200
        pairs = linear_pairs(things, np.where(is_mismatch, COUNT + things, things))
        odds = Correlation(pairs, COUNT, themselves(COUNT)).asked(ALL)
        known = odds.mismatches[odds.kinds == RANDOM, 0]
        both = np.concatenate([odds.pairs[is_mismatch, 0], known])
        is_known = np.arange(len(both)) >= is_mismatch.sum()
        assert len(known) > 0.9 * COUNT
        assert auroc(both, is_known) == pytest.approx(0.5, abs=0.06)

    def test_near_ones_are_harder_to_tell(self) -> None:
        odds = Correlation(mismatched(0)[0], COUNT, themselves(COUNT)).asked(ALL)
        random, near = (odds.mismatches[odds.kinds == kind, 0] for kind in (RANDOM, NEAR))
        assert len(near) > 0.7 * COUNT
        assert random.mean() < near.mean() < odds.pairs[:, 0].mean()

    def test_none_is_judged_by_a_map_that_saw_its_sources(self) -> None:
        pairs, _ = mismatched(120)
        correlation = Correlation(pairs, COUNT, themselves(COUNT))
        made = correlation.exchanges
        without = ALL.copy()
        without[7] = 0
        change = np.abs(correlation.asked(without).mismatches - correlation.asked(ALL).mismatches).max(axis=1)
        is_of_it = (made.shown == 7) | (made.said == 7)
        assert is_of_it.sum() >= 2
        assert change[is_of_it].max() < 1e-5
        assert (change > 1e-4).mean() > 0.5

    def test_a_single_group_has_none(self) -> None:
        things = np.zeros(COUNT, np.int64)
        odds = Correlation(linear_pairs(things, things), COUNT, themselves(COUNT)).asked(ALL)
        assert len(odds.mismatches) == 0


class TestLasting:
    """Maps for pairs that come later: the first half of a collection is learned from, the second is new."""

    KNOWN = COUNT // 2

    def parts(self) -> tuple[LastingMaps, Pairs, Pairs, np.ndarray]:
        """The maps, both halves, and what of the second is mismatched."""
        things, said = np.arange(COUNT), np.arange(COUNT)
        is_mismatch = (things >= self.KNOWN) & (things % 4 == 0)
        said[is_mismatch] = np.roll(said[is_mismatch], 3)
        whole = linear_pairs(things, said)
        known, new = (
            Pairs(whole.images[part], whole.captions[part], whole.image_ids[part], whole.caption_ids[part])
            for part in (slice(self.KNOWN), slice(self.KNOWN, None))
        )
        maps = Correlation(known, self.KNOWN, themselves(self.KNOWN)).lasting(ALL[: self.KNOWN])
        return maps, known, new, is_mismatch[self.KNOWN :]

    def test_new_mismatches_are_found(self) -> None:
        maps, _, new, is_mismatch = self.parts()
        odds = maps.odds(new, np.arange(len(new)))
        assert auroc(odds[:, 0], is_mismatch) > 0.9
        assert auroc(odds[:, 1], is_mismatch) > 0.85

    def test_known_content_is_no_rival_of_itself(self) -> None:
        """All of it is among the negatives; odds against oneself could not be above 0."""
        maps, known, _, _ = self.parts()
        assert np.median(maps.odds(known, np.arange(self.KNOWN))[:, 0]) > 0

    def test_what_is_not_trusted_is_not_learned(self) -> None:
        """Captions turned where nobody trusts them: the same means, the same variance of what is trusted."""
        things = np.arange(COUNT)
        trust = (things % 2).astype(np.float32)
        turned = np.where(trust > 0, things, np.roll(things, 2))
        one, other, fooled = (
            Correlation(linear_pairs(things, said), COUNT, themselves(COUNT)).lasting(heed)
            for said, heed in ((things, trust), (turned, trust), (turned, ALL))
        )
        cosines = [self.cosine(maps, linear_pairs(things, things)) for maps in (one, other, fooled)]
        np.testing.assert_allclose(cosines[1], cosines[0], atol=1e-3)
        assert np.abs(cosines[2] - cosines[0]).max() > 0.05

    def cosine(self, maps: LastingMaps, pairs: Pairs) -> np.ndarray:
        rows = np.arange(len(pairs))
        sides = ((0, pairs.images), (1, pairs.captions))
        images, captions = (maps.maps(side, maps.readers[side](vectors, rows)[0]) for side, vectors in sides)
        return np.asarray((images * captions).sum(dim=1))

    def test_saved_ones_say_the_same(self) -> None:
        maps, _, new, _ = self.parts()
        again = LastingMaps.from_arrays(maps.arrays())
        np.testing.assert_array_equal(again.odds(new, np.arange(9)), maps.odds(new, np.arange(9)))
