"""Words for backgrounds, colours, counts and places, and the noise that surrounds alt texts on the web."""

from dataclasses import dataclass

COLOUR_WORDS: dict[str, tuple[str, ...]] = {
    "red": ("red", "red", "scarlet", "crimson", "cherry-red", "ruby-red"),
    "orange": ("orange", "orange", "tangerine", "bright orange", "carrot-orange"),
    "yellow": ("yellow", "yellow", "lemon-yellow", "canary-yellow", "bright yellow"),
    "green": ("green", "green", "emerald", "grass-green", "emerald-green"),
    "turquoise": ("turquoise", "turquoise", "teal", "aqua", "aquamarine"),
    "blue": ("blue", "blue", "royal-blue", "cobalt-blue", "sapphire-blue"),
    "purple": ("purple", "purple", "violet", "plum-coloured", "deep purple"),
    "pink": ("pink", "pink", "rose-pink", "bubblegum-pink", "candy-pink"),
    "brown": ("brown", "brown", "chestnut-brown", "chocolate-brown", "nut-brown"),
    "black": ("black", "black", "jet-black", "coal-black", "pitch-black"),
    "white": ("white", "white", "ivory", "milk-white", "pearly white"),
    "grey": ("grey", "gray", "grey", "silver-grey", "slate-grey"),
}
COUNT_WORDS: dict[int, tuple[str, ...]] = {
    2: ("two", "two", "a pair of", "a couple of"),
    3: ("three", "three", "a trio of", "3"),
    5: ("several", "five", "a group of", "a handful of", "a number of"),
}
MAIN_PLACES: dict[str, tuple[str, ...]] = {
    "left": ("on the left", "to the left", "on the left-hand side", "left of centre"),
    "middle": ("in the centre", "right in the centre", "front and centre", "at the centre of the picture"),
    "right": ("on the right", "to the right", "on the right-hand side", "right of centre"),
}
EXTRA_PLACES: dict[str, tuple[str, ...]] = {
    "left": ("on the left", "to the left", "off to the left", "at left"),
    "right": ("on the right", "to the right", "off to the right", "at right"),
    "far": ("in the distance", "far away", "in the background", "far off", "further back"),
    "front": ("in the foreground", "in front", "up close in front", "at the front", "near the viewer"),
    "sky": ("overhead", "up above", "high above", "at the top", "above"),
}
OPINIONS = ("lovely", "charming", "pretty", "cheerful", "delightful", "beautiful", "cute", "storybook", "splendid")
SIZES = ("big", "large")
SMALL = ("small", "tiny", "little")
MOODS = ("peaceful", "quiet", "dreamy", "serene", "whimsical", "tranquil", "magical", "idyllic")
PICTURES = ("illustration", "drawing", "picture", "painting", "cartoon", "artwork", "sketch", "clip art image", "print")
STYLES = ("hand-drawn", "digital", "colourful", "vector", "flat-style", "children's book", "stock", "simple")
TAGS = ("stock illustration", "kids' art", "digital art", "clipart", "wall print", "royalty free", "free wallpaper",
        "greeting card", "postcard", "storybook art", "vector image", "children's illustration",
        "nursery poster")  # fmt: skip


@dataclass(frozen=True)
class SettingWords:
    """A noun ends in + where plural, ~ where it takes no article, ! where only "the".
    The three sets of prepositions go with things that stand, float and fly."""

    nouns: tuple[str, ...]
    adjectives: tuple[str, ...]
    standing: tuple[str, ...]
    floating: tuple[str, ...]
    flying: tuple[str, ...]
    airs: tuple[str, ...]  # weather, light and time of day that this background always shows


def _setting(nouns: str, adjectives: str, standing: str, floating: str, flying: str, airs: str) -> SettingWords:
    return SettingWords(*(tuple(text.split("|")) for text in (nouns, adjectives, standing, floating, flying, airs)))


_OVER = "above|over|high above|in the air over"
SETTINGS: dict[str, SettingWords] = {
    "sea": _setting("sea|ocean|open sea!|waves+|ocean waves+", "calm|wide|blue|rolling|sparkling|endless",
                    "in|surrounded by", "on|out on|across", _OVER,
                    "under a clear blue sky|on a bright day|in fair weather|far from land"),
    "beach": _setting("beach|sandy beach|seaside!|seashore!|sandy shore|tropical beach",
                      "golden|sunny|warm|quiet|sandy",
                      "on|at", "by|at|beside", _OVER,
                      "on a summer day|by turquoise water|in bright summer light|by the water"),
    "meadow": _setting("meadow|grassy field|green meadow|pasture|grassland|green hills+",
                       "lush|green|sunny|rolling|fresh",
                       "in|in the middle of|on", "in|on", _OVER,
                       "in spring|on a sunny day|under a blue sky|in the countryside"),
    "mountains": _setting("mountains+|snow-capped mountains+|snowy peaks+|mountain lake|alpine lake",
                          "high|majestic|rugged|alpine|cold", "by|near|in front of", "by|near|in front of", _OVER,
                          "in the clear mountain air|in the highlands|in the Alps"),
    "desert": _setting("desert|sand dunes+|dunes+|sandy desert|desert sands+", "hot|dry|vast|golden|sun-baked|barren",
                       "in|in the middle of|among", "in", _OVER, "in the heat|on a scorching day|under a hot sky"),
    "snow": _setting("snow~|snowy field|winter landscape|snowy landscape|snowfield", "white|cold|fresh|frosty|deep",
                     "in|in the middle of", "in", _OVER,
                     "in winter|on a cold day|while it is snowing|as snowflakes fall"),
    "city": _setting("city street|street|downtown street|town street|urban road", "busy|urban|paved|modern",
                     "on|along|in the middle of", "on", "above|over|high over",
                     "in the city|downtown|between tall buildings|in town"),
    "forest": _setting("forest|woods+|deep forest|woodland|dark woods+", "green|shady|deep|mossy|dense|enchanted",
                       "in|deep in|in the middle of", "in", "in|through|in the air of",
                       "in dappled light|in the shade|in green shadow"),
    "autumn": _setting("autumn park|fall landscape|autumn field|autumn woods+|autumn countryside",
                       "golden|rusty|colourful|crisp|orange", "in|in front of", "in", _OVER,
                       "in October|in the fall|among fallen leaves|as the leaves turn"),
    "lavender": _setting("lavender field|lavender fields+|purple lavender~|field of lavender|lavender rows+",
                         "fragrant|blooming|purple|scented", "in|in the middle of|among", "in", _OVER,
                         "in Provence|in summer|in the south of France"),
    "underwater": _setting("sea floor!|ocean floor!|coral reef|seabed!", "deep|blue|watery|silent|murky",
                           "on|down on|near", "near|above|close to", "near|above",
                           "in the ocean depths|under water|beneath the surface|underwater|"
                           "among bubbles|deep below the surface"),
    "sunset": _setting("sunset|blazing sunset|evening sky|glowing sunset|sunset sky",
                       "fiery|purple|glowing|golden|warm",
                       "in front of|against|before", "against|in front of", "against|in front of",
                       "at dusk|in the evening|at sundown|at the end of the day|at twilight"),
    "night": _setting("starry night|night sky|starry sky|midnight sky", "dark|deep|starlit|silent|clear",
                      "under|beneath|against", "under|beneath", "in|against|across",
                      "at night|after dark|at midnight|late at night|under the stars"),
    "rain": _setting("rain~|pouring rain~|rainstorm|downpour|rainy landscape", "grey|cold|heavy|gloomy|wet",
                     "in|out in", "in", "in|through",
                     "on a rainy day|in wet weather|on a gloomy day|beside puddles|under dark skies"),
    "space": _setting("outer space~|starry space~|galaxy|cosmos!|universe!", "deep|dark|endless|cosmic|starry",
                      "in|floating in|lost in", "in|drifting through|lost in", "in|through|across",
                      "among the stars|far from Earth|in zero gravity|light years away"),
}  # fmt: skip
