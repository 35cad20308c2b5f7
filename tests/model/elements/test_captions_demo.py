"""The captions of the demo, whose things are known, as a measure of what the grammar finds."""

import re
from random import Random

from model.demo.captions import describe
from model.demo.grammar import plural
from model.demo.imagination import imagine
from model.demo.lexicon import WORDS
from model.demo.lexicon_scene import SETTINGS
from model.elements.captions import English
from model.elements.lemmas import singular
from model.elements.tagging import letters


def _things(nouns: dict[str, str], caption: str) -> set[str]:
    """Heads of the scene's nouns that the caption spells out, the longest where several fit."""
    return {head for noun, head in nouns.items() if re.search(rf"(?<![\w'-]){re.escape(noun)}(?![\w-])", caption)}


def _vocabulary() -> set[str]:
    texts = [noun for words in WORDS.values() for noun in (*words.nouns, *words.wears)]
    texts += [noun for words in SETTINGS.values() for noun in (*words.nouns, *words.airs)]
    words = {word for text in texts for word in re.findall(r"[\w-]+", text.lower())}
    return words | {singular(word) for word in words if word.endswith("s")}


class TestDemoCaptions:
    def test_nearly_all_that_is_mentioned_is_found_and_little_else(self) -> None:
        rng, reader, vocabulary = Random(10), English("pattern", letters), _vocabulary()
        wanted = found = said = true = 0
        for number in range(600):
            scene = imagine(rng, str(number))
            nouns = {
                plural(noun) if element.count > 1 else noun: noun.split()[-1]
                for element in scene.elements
                for noun in WORDS[element.kind].nouns
            }
            caption = describe(scene, rng)
            heads = {element.head for element in reader.elements(caption)}
            mentioned = _things(nouns, caption.lower())
            wanted += len(mentioned)
            found += len(mentioned & heads)
            said += len(heads)
            true += len(heads & vocabulary)
        assert found / wanted > 0.95
        assert true / said > 0.95
