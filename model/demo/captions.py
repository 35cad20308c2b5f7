"""Captions as people write alt texts: a small recursive grammar over the phrases of a scene."""

from collections.abc import Callable
from random import Random

from model.demo.lexicon_scene import PICTURES, STYLES, TAGS
from model.demo.phrases import Focus, Phrases
from model.demo.scenes import Scene

SHORTEST, LONGEST = 4, 25  # words
_TRIES = 40


def describe(scene: Scene, rng: Random, focus: Focus | None = None) -> str:
    """A caption in which everything is true of the scene, and the focus, if any, is mentioned."""
    for _ in range(_TRIES):
        text = _Caption(scene, rng, focus).write()
        if SHORTEST <= len(text.split()) <= LONGEST:
            return text
    plain = Phrases(scene, rng, focus)
    plain.extras = plain.extras if focus and focus.element else []
    return (
        f"A picture of {_listed([plain.thing(i, bare=True) for i in (0, *plain.extras)])}: {plain.setting(bare=True)}"
    )


def _listed(items: list[str]) -> str:
    return items[0] if len(items) == 1 else f"{', '.join(items[:-1])} and {items[-1]}"


def _joined(*parts: str) -> str:
    return " ".join(part for part in parts if part)


class _Caption:
    """Each method is one rule of the grammar and returns text without its first capital and full stop."""

    def __init__(self, scene: Scene, rng: Random, focus: Focus | None) -> None:
        self.say = Phrases(scene, rng, focus)
        self.rng = rng
        self.waiting = list(self.say.extras)  # elements still to be mentioned
        rng.shuffle(self.waiting)

    def write(self) -> str:
        rules: tuple[tuple[Callable[[], str], int], ...] = (
            (self.fragment, 30),
            (self.sentence, 20),
            (self.setting_first, 12),
            (self.there_is, 12),
            (self.scene_with, 10),
            (self.keywords, 7),
            (self.extra_first, 9),
            (self.two_sentences, 6),
        )
        rule = self.rng.choices([rule for rule, _ in rules], [weight for _, weight in rules])[0]
        return self.cased(rule(), rule in (self.fragment, self.keywords, self.scene_with))

    def fragment(self) -> str:
        """Alt-text style: a noun phrase, often wrapped in words about the picture."""
        frame = self.rng.random()
        bare = 0.2 < frame < 0.45
        core = self.rest(_joined(self.main(bare), self.say.where()))
        if frame < 0.2:
            return f"{self.picture_of()} {core}"
        if frame > 0.86:
            return core + self.say.pick(" - {}", ", {}", " ({})", " | {}", ": {}").format(self.rng.choice(TAGS))
        return core

    def sentence(self) -> str:
        return self.rest(_joined(self.say.thing(0), self.say.does(0), self.say.place(0), self.say.where()))

    def setting_first(self) -> str:
        where = self.say.where()
        if not where:
            return self.sentence()
        if self.say.chance(0.4):
            return self.rest(f"{where} {self.say.does(0)} {self.say.thing(0)}")
        return self.rest(_joined(f"{where},", self.say.thing(0), self.say.does(0), self.say.place(0)))

    def there_is(self) -> str:
        is_plural = self.say.is_plural(0)
        opening = self.say.pick(
            "there are" if is_plural else "there is", "we see", "you can see", "look at", "this {} shows",
            "here we have", "{} showing", "I spotted", "the {} shows",
        )  # fmt: skip
        return self.rest(_joined(opening.format(self.rng.choice(PICTURES)), self.main(), self.say.where()))

    def scene_with(self) -> str:
        if not self.say.shows_setting:
            return self.fragment()
        things = self.others()
        main = self.main()
        listed = _listed([main, *things]) if self.say.chance(0.7) else _listed([*things, main])
        link = self.say.pick("with", "featuring", "and", "where you find", "complete with", "with", "showing off")
        setting = self.say.setting(bare=self.say.chance(0.4))
        if self.say.chance(0.3):
            return f"{setting} {self.say.pick('scene', 'view', 'picture', 'landscape', 'background')} {link} {listed}"
        if self.say.chance(0.3):
            setting = f"{self.say.pick('view of', 'a day in', 'scene of', 'somewhere in', 'postcard from')} {setting}"
        return f"{setting} {link} {listed}"

    def keywords(self) -> str:
        parts = [self.say.thing(i, bare=True) for i in (0, *self.waiting)]
        self.waiting = []
        if self.say.shows_setting:
            parts.append(self.say.setting(bare=True))
        if self.say.chance(0.4):
            parts.append(self.say.air())
        if len(parts) < 4 and self.say.chance(0.6):
            parts.append(self.say.pick(*TAGS, *PICTURES))
        self.rng.shuffle(parts)
        return self.say.pick(", ", ", ", " | ", " - ", " + ").join(parts)

    def extra_first(self) -> str:
        if not self.waiting:
            return self.sentence()
        index = self.waiting.pop()
        extra = _joined(self.say.thing(index), self.say.does(index), self.say.place(index, 0.8))
        link = self.say.pick("while", "as", "and", "where")
        return self.rest(_joined(extra, link, self.say.thing(0), self.say.does(0), self.say.where()))

    def two_sentences(self) -> str:
        if not self.say.shows_setting:
            return self.there_is()
        first = self.say.setting(bare=self.say.chance(0.5))
        first = _joined(first, self.say.air()) if self.say.chance(0.4) else first
        second = self.rest(_joined(self.say.thing(0), self.say.does(0), self.say.place(0, 0.6)))
        return f"{first}. {second[0].upper()}{second[1:]}"

    def main(self, bare: bool = False) -> str:
        """The main thing, perhaps doing something, perhaps somewhere in the picture."""
        thing = self.say.thing(0, bare)
        if self.say.chance(0.12):
            return f"{thing} that {self.say.does(0)}"
        return _joined(thing, self.say.doing(0) if self.say.chance(0.4) else "", self.say.place(0, 0.25))

    def others(self) -> list[str]:
        waiting, self.waiting = self.waiting, []
        return [_joined(self.say.thing(i), self.say.place(i, 0.6)) for i in waiting]

    def rest(self, text: str) -> str:
        """The recursive rule: hang what is still to be mentioned on what has been said, one clause after another."""
        if not self.waiting:
            return text
        index = self.waiting.pop()
        thing, place = self.say.thing(index), self.say.place(index, 0.65)
        clause = self.say.pick(
            _joined(", with", thing, place),
            _joined(" with", thing, self.say.doing(index), place),
            _joined(", and", thing, place),
            _joined(", while", thing, self.say.does(index), place),
            _joined(";", thing, self.say.does(index), place),
            _joined(",", thing, self.say.doing(index), place),
            _joined(" together with", thing, place),
            _joined(" accompanied by", thing, place),
            _joined(" and", thing, place),
        )
        return self.rest(text + clause)

    def picture_of(self) -> str:
        picture = self.rng.choice(PICTURES)
        styled = _joined(self.rng.choice(STYLES) if self.say.chance(0.55) else "", picture)
        return self.say.pick(
            f"{styled} of", f"{styled} of", "photo of", "image of", "pic:", f"{styled} with", "an image showing"
        )

    def cased(self, text: str, is_fragment: bool) -> str:
        roll = self.rng.random()
        if is_fragment and roll < 0.06:
            return text.title().replace("'S", "'s")
        if roll < (0.5 if is_fragment else 0.2):
            return text if "." not in text else text[0].upper() + text[1:]
        ends = roll > (0.8 if is_fragment else 0.35)
        return text[0].upper() + text[1:] + ("." if ends else "")
