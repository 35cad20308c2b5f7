"""Just enough English for captions: articles, plurals and verb forms."""

_PLURALS = {
    "sheep": "sheep", "fish": "fish", "cactus": "cacti", "bus": "buses", "minibus": "minibuses", "snowman": "snowmen",
    "bench": "benches", "octopus": "octopuses", "aircraft": "aircraft", "fortress": "fortresses", "beach": "beaches",
}  # fmt: skip
_DOUBLED = frozenset({"sit", "nod", "bob", "spin", "chug", "stop", "swim", "hum"})


def article(phrase: str) -> str:
    """The phrase with "a" or "an" before it."""
    first = phrase.split()[0].lower()
    sounds_like_you = first.startswith(("uni", "eu", "ewe", "one"))
    return f"{'an' if first[0] in 'aeiou' and not sounds_like_you else 'a'} {phrase}"


def plural(noun: str) -> str:
    *before, last = noun.split(" ")
    if last in _PLURALS:
        many = _PLURALS[last]
    elif last.endswith("y") and last[-2] not in "aeiou":
        many = last[:-1] + "ies"
    elif last.endswith(("s", "x", "sh", "ch")):
        many = last + "es"
    else:
        many = last + "s"
    return " ".join([*before, many])


def third_person(verb: str, is_plural: bool) -> str:
    """The present tense: stand, stands. Words after the first stay as they are."""
    head, *rest = verb.split(" ")
    if not is_plural:
        if head.endswith(("sh", "ch", "s", "x", "z")):
            head += "es"
        elif head.endswith("y") and head[-2] not in "aeiou":
            head = head[:-1] + "ies"
        else:
            head += "s"
    return " ".join([head, *rest])


def participle(verb: str) -> str:
    """The form in -ing."""
    head, *rest = verb.split(" ")
    if head == "lie":
        head = "ly"
    elif head in _DOUBLED:
        head += head[-1]
    elif head.endswith("e") and not head.endswith("ee"):
        head = head[:-1]
    return " ".join([head + "ing", *rest])
