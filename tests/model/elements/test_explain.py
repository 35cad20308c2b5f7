from dataclasses import replace

import numpy as np
import pytest

from model.elements.explain import Explainer
from model.errors import TrainingError
from model.metrics import auroc
from model.pairs import Pairs
from tests.model.elements.explain_scenes import COLOURS, THINGS, Scenes, make_scenes


@pytest.fixture(scope="module")
def scenes() -> Scenes:
    return make_scenes()


@pytest.fixture(scope="module")
def explainer(scenes: Scenes) -> Explainer:
    return Explainer.fit(scenes.pairs, scenes.trust)


class TestExplain:
    def test_mismatches_score_lower(self, scenes: Scenes, explainer: Explainer) -> None:
        found = explainer.explain(np.arange(len(scenes.pairs)))
        assert auroc(np.array([one.eme for one in found]), scenes.is_mismatch) > 0.95
        assert auroc(np.array([one.eme_soft for one in found]), scenes.is_mismatch) > 0.97

    def test_caption_elements_are_depicted_where_the_image_shows_them(
        self, scenes: Scenes, explainer: Explainer
    ) -> None:
        right = total = 0
        for row, found in enumerate(explainer.explain(np.arange(200))):
            (thing, colour, place), shown = scenes.said[row], scenes.shown[row]
            truth = {f"{colour} {thing}": (thing, colour) == shown[:2], place: place == shown[2]}
            for element in found.caption_elements:
                right += element.is_depicted == truth[element.lemma]
                total += 1
        assert total == 400
        assert right / total > 0.9

    def test_image_elements_are_what_the_image_shows(self, scenes: Scenes, explainer: Explainer) -> None:
        found = explainer.explain(np.arange(200))
        heads = [{element.lemma.split()[-1] for element in one.image_elements} for one in found]
        truth = [{scenes.shown[row][0], scenes.shown[row][2]} for row in range(200)]
        right = sum(len(one & other) for one, other in zip(heads, truth, strict=True))
        assert right / sum(map(len, heads)) > 0.95
        assert right / sum(map(len, truth)) > 0.95

    def test_wrong_colour_of_a_right_thing_is_named(self, scenes: Scenes, explainer: Explainer) -> None:
        texts = list(scenes.pairs.texts or ())
        wrong = []
        for row in range(100):
            thing, colour, place = scenes.shown[row]
            other = COLOURS[(COLOURS.index(colour) + 1) % len(COLOURS)]
            texts[row] = f"a {other} {thing} on the {place}"
        changed = replace(explainer, pairs=replace(scenes.pairs, texts=texts))
        for found in changed.explain(np.arange(100)):
            worst = min(found.caption_elements, key=lambda element: element.probability)
            wrong.append(worst.wrong == "colour" and worst.lemma.split()[-1] in THINGS)
        assert np.mean(wrong) > 0.8

    def test_place_is_a_setting(self, scenes: Scenes, explainer: Explainer) -> None:
        found = explainer.explain(np.arange(len(scenes.pairs)))
        named = {e.wrong for one in found for e in one.caption_elements if e.lemma in ("beach", "forest") and e.wrong}
        assert named == {"setting"}

    def test_spans_are_those_of_the_caption(self, scenes: Scenes, explainer: Explainer) -> None:
        (found,) = explainer.explain(np.array([3]))
        text = (scenes.pairs.texts or [])[3]
        assert [text[e.start : e.end] for e in found.caption_elements] == [e.text for e in found.caption_elements]

    def test_blocks_make_no_difference(self, explainer: Explainer) -> None:
        together = explainer.explain(np.array([5, 300, 7]))
        alone = [explainer.explain(np.array([row]))[0] for row in (5, 300, 7)]
        assert [one.eme_soft for one in together] == pytest.approx([one.eme_soft for one in alone])
        assert [one.eme for one in together] == [one.eme for one in alone]


class TestFit:
    def test_own_caption_is_no_evidence_about_its_image(self, scenes: Scenes) -> None:
        """A lie that is fully trusted does not become true: the pair is judged by votes that never saw its image."""
        texts = list(scenes.pairs.texts or ())
        row = 0
        thing, colour, place = scenes.shown[row]
        texts[row] = f"a {colour} {THINGS[(THINGS.index(thing) + 1) % len(THINGS)]} on the {place}"
        trust = scenes.trust.copy()
        trust[row] = 1.0
        fitted = Explainer.fit(replace(scenes.pairs, texts=texts), trust)
        assert not fitted.explain(np.array([row]))[0].caption_elements[0].is_depicted

    def test_vectors_of_trained_networks_take_the_place_of_features(self, scenes: Scenes) -> None:
        blind = replace(scenes.pairs, images=np.random.default_rng(0).normal(size=scenes.pairs.images.shape))
        learned = (scenes.pairs.images, scenes.pairs.captions)
        found = Explainer.fit(blind, scenes.trust, learned).explain(np.arange(300))
        assert auroc(np.array([one.eme_soft for one in found]), scenes.is_mismatch[:300]) > 0.95

    def test_pairs_behind_the_trusted_ones_are_explained_too(self, scenes: Scenes) -> None:
        found = Explainer.fit(scenes.pairs, scenes.trust[:500]).explain(np.arange(500, 600))
        assert auroc(np.array([one.eme_soft for one in found]), scenes.is_mismatch[500:]) > 0.95

    def test_captions_without_any_repeated_word_have_no_score(self) -> None:
        rng = np.random.default_rng(0)
        texts = ["", "zzz", "of the", "42"] * 10
        pairs = Pairs(
            rng.normal(size=(40, 8)).astype(np.float32),
            rng.normal(size=(40, 8)).astype(np.float32),
            np.arange(40),
            np.arange(40) % 4,
            texts,
        )
        found = Explainer.fit(pairs, np.ones(40, np.float32)).explain(np.array([0]))
        assert found[0].caption_elements == ()

    def test_pairs_without_texts_are_refused(self, scenes: Scenes) -> None:
        with pytest.raises(TrainingError, match="captions themselves"):
            Explainer.fit(replace(scenes.pairs, texts=None), scenes.trust)
