"""Phrases about one scene: its things, their places and its setting, each worded afresh at every call."""

from dataclasses import dataclass
from random import Random
from typing import Literal

from model.demo.catalogue import KINDS
from model.demo.grammar import article, participle, plural, third_person
from model.demo.lexicon import WORDS
from model.demo.lexicon_scene import (
    COLOUR_WORDS,
    COUNT_WORDS,
    EXTRA_PLACES,
    MAIN_PLACES,
    MOODS,
    OPINIONS,
    SETTINGS,
    SIZES,
    SMALL,
)
from model.demo.scenes import Scene

Aspect = Literal["kind", "colour", "count", "background"]
_ONLY_ONE = frozenset({"sun", "moon"})


@dataclass(frozen=True)
class Focus:
    """What a caption must not leave out: an aspect of one element, or the background."""

    aspect: Aspect
    element: int | None = None


class Phrases:
    """One draw of what to mention, and the phrases for it."""

    def __init__(self, scene: Scene, rng: Random, focus: Focus | None) -> None:
        self.scene, self.rng, self.focus = scene, rng, focus
        self.needs_setting = focus is not None and focus.aspect == "background"
        self.shows_setting = self.needs_setting or self.chance(0.94)
        needed = focus.element if focus else None
        extras = range(1, len(scene.elements))
        self.extras = [i for i in extras if i == needed or self.chance(0.72)]

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    def pick(self, *options: str) -> str:
        return self.rng.choice(options)

    def is_plural(self, index: int) -> bool:
        return self.scene.elements[index].count > 1

    def thing(self, index: int, bare: bool = False) -> str:
        """A noun phrase with count, adjectives and colour; bare ones go without an article."""
        element = self.scene.elements[index]
        words = WORDS[element.kind]
        noun = self.rng.choice(words.nouns)
        before, after = self._colour(index)
        described = " ".join([*self._adjectives(index, noun), *before])
        head = plural(noun) if element.count > 1 else noun
        phrase = " ".join(part for part in (described, head, after) if part)
        if element.count > 1:
            return f"{self.rng.choice(COUNT_WORDS[element.count])} {phrase}"
        if bare:
            return phrase
        if element.kind in _ONLY_ONE:
            return f"the {phrase}" if self.chance(0.7) else article(phrase)
        if index == 0 and self.chance(0.08):
            return f"{self.pick('one', 'a single', 'a lone')} {phrase}"
        return article(phrase)

    def _colour(self, index: int) -> tuple[list[str], str]:
        element = self.scene.elements[index]
        is_needed = self.focus == Focus("colour", index)
        if element.colour is None or not (is_needed or self.chance(0.94 if index == 0 else 0.75)):
            return [], ""
        name = self.rng.choice(COLOUR_WORDS[element.colour])
        wears = WORDS[element.kind].wears
        if element.kind == "snowman" or (wears and self.chance(0.18)):
            return [], self._worn(self.rng.choice(wears) % name, element.count > 1)
        return [name], ""

    @staticmethod
    def _worn(phrase: str, is_plural: bool) -> str:
        """Right the article before the colour; many things wear many scarves."""
        if " a " not in phrase:
            return phrase
        before, rest = phrase.split(" a ", 1)
        return f"{before} {plural(rest)}" if is_plural else f"{before} {article(rest)}"

    def _adjectives(self, index: int, noun: str) -> list[str]:
        element = self.scene.elements[index]
        opinion = self.rng.choice(OPINIONS)
        options = [opinion, *WORDS[element.kind].adjectives]
        if element.place == "far":
            options += SMALL
        elif index == 0 and element.count == 1:
            options += SIZES
        said = noun.split()
        chosen = [word for word in self.rng.sample(options, 2) if word not in said]
        chosen.sort(key=lambda word: word != opinion)  # English puts the opinion first
        return chosen[: self.rng.choices((0, 1, 2), (46, 44, 10))[0]]

    def does(self, index: int) -> str:
        verb = self.rng.choice(WORDS[self.scene.elements[index].kind].verbs)
        return third_person(verb, self.is_plural(index))

    def doing(self, index: int) -> str:
        return participle(self.rng.choice(WORDS[self.scene.elements[index].kind].verbs))

    def place(self, index: int, share: float = 0.35) -> str:
        """Where in the picture, or nothing."""
        element = self.scene.elements[index]
        if element.place is None or not self.chance(share):
            return ""
        return self.rng.choice((MAIN_PLACES if index == 0 else EXTRA_PLACES)[element.place])

    def where(self) -> str:
        """The setting as an adverbial, now and then with its air, or nothing."""
        if not self.shows_setting:
            return ""
        words = SETTINGS[self.scene.background]
        if not self.needs_setting and self.chance(0.1):
            return self.rng.choice(words.airs)
        level = KINDS[self.scene.main.kind].level
        prepositions = {"ground": words.standing, "water": words.floating, "air": words.flying}[level]
        phrase = f"{self.rng.choice(prepositions)} {self.setting()}"
        return f"{phrase} {self.air()}" if self.chance(0.22) else phrase

    def air(self) -> str:
        return self.rng.choice(SETTINGS[self.scene.background].airs)

    def setting(self, bare: bool = False) -> str:
        """The background as a noun phrase."""
        words = SETTINGS[self.scene.background]
        noun = self.rng.choice(words.nouns)
        form, noun = noun[-1], noun.rstrip("+~!")
        adjectives = [word for word in (self.rng.choice(words.adjectives), self.rng.choice(MOODS)) if word not in noun]
        phrase = " ".join([*adjectives[: self.rng.choices((0, 1, 2), (55, 38, 7))[0]][::-1], noun])
        if bare or form == "~":
            return phrase
        if form == "!":
            return f"the {phrase}"
        if form == "+":
            return f"the {phrase}" if self.chance(0.5) else phrase
        return f"the {phrase}" if self.chance(0.35) else article(phrase)
