from dataclasses import replace

import numpy as np
import pytest

from model.elements.detector import Detected
from model.elements.explain import Explainer
from tests.model.elements.explain_scenes import Scenes, make_scenes


@pytest.fixture(scope="module")
def scenes() -> Scenes:
    return make_scenes(300)


@pytest.fixture(scope="module")
def explainer(scenes: Scenes) -> Explainer:
    return Explainer.fit(scenes.pairs, scenes.trust)


class TestExplainDetected:
    def test_detected_things_join_the_image_elements(self, scenes: Scenes, explainer: Explainer) -> None:
        texts = list(scenes.pairs.texts or ())
        texts[0] = "a zebra on the beach"
        changed = replace(explainer, pairs=replace(scenes.pairs, texts=texts))
        (found,) = changed.explain(np.array([0]), [[Detected("zebra", 0.9), Detected("giraffe", 0.8)]])
        mentions = {e.lemma: e.is_mentioned for e in found.image_elements if e.source == "detector"}
        assert mentions == {"zebra": True, "giraffe": False}

    def test_what_the_concepts_show_already_is_not_said_twice(self, scenes: Scenes, explainer: Explainer) -> None:
        row = int(np.flatnonzero(~scenes.is_mismatch)[0])
        thing = scenes.shown[row][0]
        (found,) = explainer.explain(np.array([row]), [[Detected(thing, 0.9)]])
        assert sum(e.lemma.split()[-1] == thing for e in found.image_elements) == 1


class TestPrompts:
    def test_prompts_of_a_joint_encoder_show_what_few_pairs_mention(self) -> None:
        """A space in which text and image of a word are one: of some words hardly any pair is trusted."""
        scenes = make_scenes(300)
        looks = np.linalg.lstsq(_indicators(scenes), scenes.pairs.images, rcond=None)[0]
        words = sorted({word for shown in scenes.shown for word in shown})

        def encode_texts(texts: list[str]) -> np.ndarray:
            return np.array(
                [sum(looks[words.index(w)] for w in text.split() if w in words) + 0 * looks[0] for text in texts]
            )

        pairs = replace(scenes.pairs, is_joint=True)
        trust = np.where(["dog" in text for text in pairs.texts or ()], 0.01, scenes.trust).astype(np.float32)
        rows = np.array([row for row, (thing, _, _) in enumerate(scenes.shown) if thing == "dog"])
        found = {}
        for name, encode in (("prompted", encode_texts), ("plain", None)):
            fitted = Explainer.fit(pairs, trust, encode_texts=encode)
            scores = fitted.votes[0].scores(fitted.readers[0](np.arange(300)), np.zeros(300, np.int64))
            column = scores[:, fitted.concepts.heads["dog"]]
            found[name] = (column[rows].mean() - column.mean()) / column.std()
        assert found["prompted"] > found["plain"]


def _indicators(scenes: Scenes) -> np.ndarray:
    words = sorted({word for shown in scenes.shown for word in shown})
    return np.array([[word in shown for word in words] for shown in scenes.shown], float)
