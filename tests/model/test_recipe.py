"""`auto`: what it stands for, and that a joint encoder is never made worse."""

import numpy as np
import pytest

from benchmarks.protocol.judged import judged
from model.config import RunConfig, parse_run_config
from model.engine import Engine
from model.joint import joint_similarity
from model.metrics import auroc
from model.options.backbones import HeadConfig
from model.options.crcl import CRCLConfig
from model.pairs import Pairs
from model.recipe import resolve
from tests.probe_run import numbers


def joint_pairs(count: int, mismatched: float, blur: float = 0.8) -> tuple[Pairs, np.ndarray]:
    """Both sides see the same hidden vector in the same space, each blurred and with a mean of its own."""
    rng = np.random.default_rng(0)
    hidden = rng.normal(size=(count, 24))
    images = hidden + blur * rng.normal(size=hidden.shape) + 3.0
    captions = hidden + blur * rng.normal(size=hidden.shape) - 1.0
    given = np.arange(count)
    chosen = rng.choice(count, round(mismatched * count), replace=False)
    given[chosen] = np.roll(chosen, 1)
    features = images[given].astype(np.float32), captions.astype(np.float32)
    return Pairs(*features, given.astype(np.int64), np.arange(count), is_joint=True), given != np.arange(count)


class TestResolve:
    def test_other_methods_are_left_as_they_are(self) -> None:
        config = parse_run_config({"method": "decl"})
        assert resolve(config, 1000, is_joint=True, is_advised=True) == (config, [])

    @pytest.mark.parametrize(
        ("count", "factor", "pieces", "every", "enough"),
        [
            (500, 1.0, 6, 2, 0),
            (1_000, 1.0, 6, 2, 0),
            (2_500, 0.744, 4, 2, 0),
            (6_000, 0.5, 3, 1, 2),
            (30_000, 0.5, 3, 1, 2),
            (3_000_000, 0.5, 3, 1, 2),
        ],
    )
    def test_small_collections_get_more_dropout_and_rounds(
        self, count: int, factor: float, pieces: int, every: int, enough: int
    ) -> None:
        found, why = resolve(RunConfig(), count, is_joint=False, is_advised=True)
        assert isinstance(found.method_options, CRCLConfig)
        assert found.method_options.dropout_factor == pytest.approx(factor)
        assert len(found.method_options.piece_epochs) == pieces
        assert (found.method_options.advice_every, found.method_options.enough_pieces) == (every, enough)
        assert len(why) == 4

    @pytest.mark.parametrize("count", [700, 31_500])
    def test_reasons_do_not_count_the_pairs(self, count: int) -> None:
        """Known mismatches are among them, and nobody is told how many there are."""
        _, why = resolve(RunConfig(), count, is_joint=False, is_advised=True)
        assert not numbers(" ".join(why)) & {count}

    @pytest.mark.parametrize("count", [1_000, 30_000])
    def test_without_advice_all_rounds_are_made_and_none_is_promised(self, count: int) -> None:
        """Nobody could tell that mismatches prevail, so no round waits for that."""
        found, why = resolve(RunConfig(), count, is_joint=False, is_advised=False)
        assert isinstance(found.method_options, CRCLConfig)
        assert (found.method_options.advice_every, found.method_options.enough_pieces) == (0, 0)
        assert f"{len(found.method_options.piece_epochs)} rounds" in why[-1]
        assert not any("evidence" in reason or "prevail" in reason for reason in why)

    def test_joint_encoder_is_where_it_starts(self) -> None:
        found, why = resolve(RunConfig(), 1000, is_joint=True, is_advised=True)
        assert isinstance(found.backbone_options, HeadConfig)
        assert found.backbone_options.start == "identity"
        assert "joint" in why[-1]


class TestJoint:
    def test_similarity_is_centred(self) -> None:
        pairs, is_wrong = joint_pairs(400, 0.3)
        assert auroc(joint_similarity(pairs), is_wrong) > 0.9
        raw = (pairs.images * pairs.captions).sum(axis=1)
        assert auroc(joint_similarity(pairs), is_wrong) > auroc(raw, is_wrong)

    def test_auto_is_no_worse_than_the_encoder_itself(self) -> None:
        pairs, is_wrong = joint_pairs(300, 0.8)
        engine = Engine(pairs, parse_run_config({"seed": 1}))
        engine.fit()
        assert auroc(engine.scores().similarity, is_wrong) > auroc(joint_similarity(pairs), is_wrong) - 0.02

    @pytest.mark.parametrize(("mismatched", "blur"), [(0.1, 0.8), (0.8, 0.8), (0.4, 1.5), (0.9, 1.5)])
    def test_nor_is_a_whole_run_of_it(self, mismatched: float, blur: float) -> None:
        """Also of an encoder that is not very good: an AUROC of .85 at 1.5."""
        pairs, is_wrong = joint_pairs(500, mismatched, blur)
        found = judged(pairs, parse_run_config({"seed": 1})).verdict.scores
        assert auroc(found.clean_confidence, is_wrong) > auroc(joint_similarity(pairs), is_wrong) - 0.002
