"""Cross attention: worked examples of SCAN and of the similarity vectors, and the blocks."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor

from model.backbones import attention
from model.backbones.attention import attend_to_regions, attend_to_words, plan
from model.backbones.base import Items
from model.backbones.saf import SAF
from model.backbones.scan import SCAN
from model.backbones.sgr import Reasoning
from model.options.backbones import SAFConfig, SCANConfig
from tests.model.test_backbones import LENGTHS, gradients, make, make_items

ATTENTIVE = ["scan", "sgr", "saf", "sgraf"]
# One image of two regions, one caption of two words; products of words (rows) and regions: [[1, 0], [.6, .8]].
REGIONS = torch.tensor([[[1.0, 0.0], [0.0, 1.0]]])
WORDS = torch.tensor([[[1.0, 0.0], [0.6, 0.8]]])


def softmax(*values: float) -> list[float]:
    total = sum(math.exp(value) for value in values)
    return [math.exp(value) / total for value in values]


def score(**options: Any) -> float:
    """Raw score of the image and the caption above."""
    network = SCAN(SCANConfig(word_size=2, embed_size=2, **options), 2, 5)
    return network.compare((REGIONS,), (WORDS, torch.tensor([2]))).item()


class TestAttendToRegions:
    def test_words_compete_for_a_region_before_it_is_weighted(self) -> None:
        """Region 0: (1, .6) / 1.16619 = (.85749, .51450); region 1: (0, .8) / .8 = (0, 1)."""
        weights = attend_to_regions(attention.affinities(REGIONS, WORDS), 2.0)  # (1, 2, 1, 2)
        assert weights[0, 0, 0].tolist() == pytest.approx(softmax(2 * 0.857493, 0.0), abs=1e-5)
        assert weights[0, 1, 0].tolist() == pytest.approx(softmax(2 * 0.514496, 2.0), abs=1e-5)

    def test_negative_affinities_are_all_but_cut(self) -> None:
        """(-1) becomes -.1, of length .1 beside nothing else: -1; and .5 becomes 1."""
        affinity = torch.tensor([-1.0, 0.5]).view(1, 1, 1, 2)
        assert attend_to_regions(affinity, 1.0).flatten().tolist() == pytest.approx(softmax(-1.0, 1.0))


class TestAttendToWords:
    def test_regions_compete_for_a_word_before_it_is_weighted(self) -> None:
        """Word 0: (1, 0); word 1: (.6, .8), both of length 1 already."""
        weights = attend_to_words(attention.affinities(REGIONS, WORDS), 4.0)
        assert weights[0, :, 0, 0].tolist() == pytest.approx(softmax(4.0, 2.4))
        assert weights[0, :, 0, 1].tolist() == pytest.approx(softmax(0.0, 3.2))


class TestSCAN:
    def cosines(self) -> list[float]:
        """Word 0 sees (a, 1 - a), word 1 (b, 1 - b); the cosine of each with what it sees."""
        a, _ = softmax(9 * 0.857493, 0.0)
        b, _ = softmax(9 * 0.514496, 9.0)
        return [a / math.hypot(a, 1 - a), (0.6 * b + 0.8 * (1 - b)) / math.hypot(b, 1 - b)]

    def test_text_to_image_is_worked_by_hand(self) -> None:
        first, second = self.cosines()
        assert score(aggregation="mean") == pytest.approx((first + second) / 2, abs=1e-5)
        assert score(aggregation="sum") == pytest.approx(first + second, abs=1e-5)
        assert score(aggregation="max") == pytest.approx(max(first, second), abs=1e-5)
        lse = math.log(math.exp(6 * first) + math.exp(6 * second)) / 6
        assert score(aggregation="lse", lambda_lse=6.0) == pytest.approx(lse, abs=1e-5)

    def test_image_to_text_is_worked_by_hand(self) -> None:
        """Region 0 sees p of word 0 and 1 - p of word 1: (p + .6 (1 - p), .8 (1 - p)); region 1 likewise."""
        expected = []
        for region, (p, q) in enumerate([softmax(4.0, 2.4), softmax(0.0, 3.2)]):
            seen = (p + 0.6 * q, 0.8 * q)
            expected.append(seen[region] / math.hypot(*seen))
        found = score(direction="image_to_text", lambda_softmax=4.0)
        assert found == pytest.approx(sum(expected) / 2, abs=1e-5)

    @pytest.mark.parametrize("aggregation", ["lse", "sum"])
    def test_signed_score_stays_in_range_where_the_raw_one_does_not(self, aggregation: str) -> None:
        network = SCAN(SCANConfig(word_size=2, embed_size=2, aggregation=aggregation), 2, 5)
        assert network.signed(torch.tensor([[1.9]])).item() == pytest.approx(math.tanh(1.9))

    @pytest.mark.parametrize("direction", ["text_to_image", "image_to_text"])
    def test_norms_from_products_are_those_of_the_attended_vectors(self, direction: str) -> None:
        torch.manual_seed(0)
        regions, words = torch.randn(3, 4, 5), torch.randn(2, 6, 5)
        weights = torch.rand(2, 6, 3, 4)
        if direction == "text_to_image":
            attended = torch.einsum("clir,ird->clid", weights, regions)
            found = attention.attended_region_norms(weights, regions)
        else:
            attended = torch.einsum("clir,cld->cird", weights, words)
            found = attention.attended_word_norms(weights, words)
        torch.testing.assert_close(found, attended.norm(dim=-1))


class TestSimilarityVectors:
    def test_local_vectors_follow_equation_3(self) -> None:
        """s = W |a - t|^2, scaled to length 1, where a is the attended image of length 1."""
        network = make("saf")
        assert isinstance(network, SAF)
        torch.manual_seed(3)
        regions, words = (torch.nn.functional.normalize(torch.randn(2, n, 8), dim=2) for n in (4, 3))
        weights = attend_to_regions(attention.affinities(regions, words), 9.0)
        attended = torch.einsum("clir,ird->icld", weights, regions)
        attended = attended / attended.norm(dim=3, keepdim=True)
        expected = network.local((attended - words[None]).square())
        expected = expected / expected.norm(dim=3, keepdim=True)
        torch.testing.assert_close(network._local(regions, words), expected)

    def test_filter_weights_are_shares_of_the_sigmoids(self) -> None:
        """With filter logits 0 and log 3: sigmoids 1/2 and 3/4, shares .4 and .6."""
        network = SAF(SAFConfig(word_size=2, embed_size=2, similarity_size=2), 2, 5)
        with torch.no_grad():
            network.filter.weight.copy_(torch.tensor([[0.0, math.log(3)]]))
            network.filter.bias.zero_()
        found = network.infer(torch.tensor([[[1.0, 0.0], [0.0, 1.0]]]))
        assert found[0].tolist() == pytest.approx([0.4 / math.hypot(0.4, 0.6), 0.6 / math.hypot(0.4, 0.6)])


class TestReasoning:
    def test_one_round_follows_equations_5_and_6(self) -> None:
        torch.manual_seed(0)
        step, nodes = Reasoning(3), torch.randn(2, 4, 3)
        edges = (step.incoming(nodes) @ step.outgoing(nodes).transpose(1, 2)).softmax(dim=2)
        torch.testing.assert_close(step(nodes, nodes), step.update(edges @ nodes).relu())

    def test_one_node_can_be_updated_alone(self) -> None:
        torch.manual_seed(0)
        step, nodes = Reasoning(3), torch.randn(2, 4, 3)
        torch.testing.assert_close(step(nodes[:, :1], nodes), step(nodes, nodes)[:, :1])


class TestPlan:
    @pytest.mark.parametrize("most", [1, 60, 400, 3000, 10**9])
    def test_blocks_keep_the_limit_and_cover_every_caption_once(self, most: int) -> None:
        lengths = [5, 3, 5, 9, 3, 5]
        groups = plan(lengths, 7, lambda length: 10 * length, most)
        assert sorted(at for group in groups for at in group.captions) == list(range(6))
        for group in groups:
            assert {lengths[at] for at in group.captions} == {group.length}
            cells = len(group.captions) * group.images
            assert 1 <= group.images <= 7
            assert cells == 1 or cells * 10 * group.length <= most

    def test_without_a_limit_there_is_one_group_per_length(self) -> None:
        assert [group.captions for group in plan([5, 3, 5], 7, lambda length: length, 10**9)] == [(1,), (0, 2)]


class TestInBlocks:
    @pytest.mark.parametrize("name", ATTENTIVE)
    def test_values_and_gradients_do_not_depend_on_the_blocks(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        network = make(name).double()
        (seen,), captions = make_items(name)
        images = (seen.double(),)
        whole, expected = network(images, captions), gradients(network, images, captions)
        # A megabyte of a few bytes: one image with one caption at a time, each worked out again.
        monkeypatch.setattr(attention, "_MEGABYTE", 1)
        torch.testing.assert_close(network(images, captions), whole)
        for found, wanted in zip(gradients(network, images, captions), expected, strict=True):
            torch.testing.assert_close(found, wanted)

    @pytest.mark.parametrize(("megabytes", "times"), [(1, 2), (10_000, 1)])
    def test_blocks_are_worked_out_again_only_where_all_would_not_fit(self, megabytes: int, times: int) -> None:
        calls = []

        def compare(images: Items, captions: Items) -> Tensor:
            calls.append(1)
            return images[0].sum(dim=(1, 2))[:, None] * captions[0].sum(dim=(1, 2))

        images, words = torch.ones(3, 1, 2, requires_grad=True), torch.ones(2, 4, 2)
        captions = (words, torch.tensor([4, 4]))
        scores = attention.in_blocks(compare, (images,), captions, lambda length: 100_000, megabytes)
        blocks = len(calls)
        scores.sum().backward()  # type: ignore[no-untyped-call]
        assert len(calls) == times * blocks

    @pytest.mark.parametrize("name", ["scan", "sgr", "saf"])
    def test_what_is_kept_for_the_backward_pass_is_no_more_than_was_reckoned(
        self, name: str, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        network = make(name, embed_size=32, **({} if name == "scan" else {"similarity_size": 16}))
        images, captions = make_items(name, images=20, regions=9, lengths=8 * LENGTHS)
        seen, read = network.encode_images(images), network.encode_captions(captions)
        reckoned = []
        original = attention.in_blocks

        def spy(*arguments: Any) -> Tensor:
            reckoned.append(20 * sum(map(arguments[3], captions[1].tolist())))
            return original(*arguments)

        kept: dict[int, int] = {}

        def pack(saved: Tensor) -> Tensor:
            kept[saved.untyped_storage().data_ptr()] = saved.untyped_storage().nbytes() // 4
            return saved

        monkeypatch.setattr(attention, "in_blocks", spy)
        with torch.autograd.graph.saved_tensors_hooks(pack, lambda saved: saved):
            network.compare(seen, read)
        assert sum(kept.values()) <= 1.25 * reckoned[0]
