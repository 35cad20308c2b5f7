"""Word encoder, pooling, gated unit and the random changes of a batch."""

import math

import pytest
import torch

from model.backbones.augment import drop_regions, drop_words
from model.backbones.gated import GatedUnit
from model.backbones.similarity_vectors import SelfAttention
from model.backbones.text import WordEncoder
from model.backbones.vse_infinity import Pooling, position_codes
from model.options.backbones import SGRConfig
from model.words import END, PAD, START, UNKNOWN
from tests.model.test_backbones import LENGTHS, VOCABULARY, make_captions


class TestWordEncoder:
    def make(self, is_normalised: bool) -> WordEncoder:
        torch.manual_seed(0)
        return WordEncoder(SGRConfig(word_size=6, embed_size=8), VOCABULARY, is_normalised).eval()

    @pytest.mark.parametrize("is_normalised", [True, False])
    def test_padded_places_are_exactly_zero(self, is_normalised: bool) -> None:
        words = self.make(is_normalised)(make_captions(LENGTHS, padded_to=9))
        assert words.shape == (5, 9, 8)
        for row, length in zip(words, LENGTHS, strict=True):
            assert (row[length:] == 0).all()
            assert (row[:length] != 0).any(dim=1).all()

    def test_normalised_words_have_length_one(self) -> None:
        words = self.make(True)(make_captions([4, 4]))
        torch.testing.assert_close(words.norm(dim=2), torch.ones(2, 4))

    def test_is_the_mean_of_both_directions(self) -> None:
        encoder = self.make(False)
        tokens, lengths = make_captions([5])
        states, _ = encoder.recurrent(encoder.embedding(tokens))
        torch.testing.assert_close(encoder((tokens, lengths)), (states[..., :8] + states[..., 8:]) / 2)


class TestPooling:
    FEATURES = torch.tensor([[[1.0, 5.0], [3.0, -2.0], [2.0, 0.0], [9.0, 9.0]]])  # the last is padding
    LENGTHS = torch.tensor([3])

    def test_equal_scores_are_mean_pooling(self) -> None:
        pooling = Pooling(4, 0.1)
        torch.nn.init.zeros_(pooling.score.weight)
        assert pooling(self.FEATURES, self.LENGTHS)[0].tolist() == pytest.approx([2.0, 1.0])

    def test_all_weight_on_the_first_rank_is_max_pooling(self, monkeypatch: pytest.MonkeyPatch) -> None:
        pooling = Pooling(4, 0.1)
        first = torch.tensor([[1.0, 0.0, 0.0, 0.0]])
        monkeypatch.setattr(pooling, "weights", lambda lengths, longest: first)
        assert pooling(self.FEATURES, self.LENGTHS)[0].tolist() == [3.0, 5.0]

    def test_ranks_are_weighted_from_the_highest_down(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Sorted: (3, 2, 1) and (5, 0, -2); .5 * 3 + .3 * 2 + .2 * 1 = 2.3 and .5 * 5 - .2 * 2 = 2.1."""
        pooling = Pooling(4, 0.1)
        given = torch.tensor([[0.5, 0.3, 0.2, 0.0]])
        monkeypatch.setattr(pooling, "weights", lambda lengths, longest: given)
        assert pooling(self.FEATURES, self.LENGTHS)[0].tolist() == pytest.approx([2.3, 2.1])

    def test_weights_are_shares_of_the_places_that_exist(self) -> None:
        torch.manual_seed(0)
        weights = Pooling(4, 0.1).weights(torch.tensor([3, 1, 3, 5]), 6)
        torch.testing.assert_close(weights.sum(dim=1), torch.ones(4))
        assert (weights[0, 3:] == 0).all()
        assert weights[1].tolist() == [1.0, 0.0, 0.0, 0.0, 0.0, 0.0]
        assert torch.equal(weights[0], weights[2])

    def test_gradient_is_that_of_the_pooled_values(self) -> None:
        torch.manual_seed(0)
        pooling = Pooling(4, 0.1).double()
        features = torch.randn(2, 4, 3, dtype=torch.double, requires_grad=True)
        assert torch.autograd.gradcheck(lambda some: pooling(some, torch.tensor([4, 2])), (features,))


class TestPositionCodes:
    def test_are_sines_and_cosines_of_falling_frequencies(self) -> None:
        """Frequencies 1 and 10000^(-1/2) = .01."""
        expected = [math.sin(3), math.cos(3), math.sin(0.03), math.cos(0.03)]
        assert position_codes(5, 4)[3].tolist() == pytest.approx(expected)

    def test_odd_sizes_are_cut(self) -> None:
        assert position_codes(5, 3).shape == (5, 3)


class TestSelfAttention:
    def test_equal_scores_give_the_direction_of_the_mean(self) -> None:
        attention = SelfAttention(2, 0.0)
        torch.nn.init.zeros_(attention.score.weight)
        vectors = torch.tensor([[[3.0, 0.0], [0.0, 4.0], [0.0, 0.0]]])
        found = attention(vectors, torch.tensor([[True, True, False]]))
        assert found[0].tolist() == pytest.approx([0.6, 0.8])


class TestGatedUnit:
    def test_follows_equation_d8(self) -> None:
        """W1 = 2, b1 = 1: 2 * 3 + 1 = 7; W2 = 1, b2 = -7: the gate is 1/2; 7 / 2 = 3.5."""
        unit = GatedUnit(1, 1, 0.0)
        with torch.no_grad():
            for weight, value in zip(unit.parameters(), (2.0, 1.0, 1.0, -7.0), strict=True):
                weight.fill_(value)
        assert unit(torch.tensor([[3.0]])).item() == pytest.approx(3.5)


class TestDropRegions:
    def test_keeps_different_regions_of_each_image_as_they_are(self) -> None:
        torch.manual_seed(0)
        regions = torch.arange(60.0).view(3, 20, 1)
        kept = [drop_regions(regions, 0.4) for _ in range(40)]
        assert len({part.shape[1] for part in kept}) > 5
        for part in kept:
            for row, source in zip(part, regions, strict=True):
                assert set(row.flatten().tolist()) <= set(source.flatten().tolist())
                assert len(row.unique()) == part.shape[1]
        mean = sum(part.shape[1] for part in kept) / len(kept) / 20
        assert mean == pytest.approx(0.6, abs=0.1)

    def test_last_region_is_never_dropped(self) -> None:
        assert all(drop_regions(torch.ones(2, 1, 3), 0.45).shape == (2, 1, 3) for _ in range(20))

    def test_nothing_is_dropped_without_a_share(self) -> None:
        regions = torch.randn(2, 5, 3)
        assert all(drop_regions(regions, 0.0) is regions for _ in range(5))


class TestDropWords:
    def test_words_become_unknown_but_never_start_end_or_padding(self) -> None:
        torch.manual_seed(0)
        tokens = torch.tensor([[START, 7, 8, 9, END, PAD]]).expand(500, -1)
        changed = drop_words(tokens, 0.3)
        assert torch.unique(changed[:, [0, 4, 5]], dim=0).tolist() == [[START, END, PAD]]
        is_unknown = changed[:, 1:4] == UNKNOWN
        assert is_unknown.float().mean().item() == pytest.approx(0.3, abs=0.05)
        assert torch.equal(changed[:, 1:4][~is_unknown], tokens[:, 1:4][~is_unknown])
        assert tokens[0].tolist() == [START, 7, 8, 9, END, PAD]
