"""Words for the kinds of things: names, fitting adjectives, what they do, and how they wear their colour.

No name of one kind occurs inside another's, except within a longer name ("hot-air balloon"), and no adjective
or verb names a kind: so a caption can be checked against the truth word by word.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Words:
    nouns: tuple[str, ...]
    adjectives: tuple[str, ...]
    verbs: tuple[str, ...]
    wears: tuple[str, ...]  # phrases after the noun, with %s for the colour


_PAINTED = "painted %s|in %s"
_FUR = "with %s fur"
_FEATHERS = "with %s feathers"


def _words(nouns: str, adjectives: str, verbs: str, wears: str = "in %s") -> Words:
    return Words(*(tuple(part for part in text.split("|") if part) for text in (nouns, adjectives, verbs, wears)))


WORDS: dict[str, Words] = {
    "house": _words("house|cottage|home|farmhouse|cabin", "cosy|old|neat|quaint|homely",
                    "stand|sit|nestle", _PAINTED),
    "castle": _words("castle|fortress|fairy-tale castle|stronghold", "grand|ancient|turreted|medieval|proud",
                     "stand|rise|tower", "with %s walls|built of %s stone"),
    "lighthouse": _words("lighthouse|striped lighthouse|beacon tower", "tall|lonely|watchful|sturdy",
                         "stand|rise|shine|keep watch", "with %s stripes|striped in %s"),
    "windmill": _words("windmill|old windmill|mill", "creaking|tall|Dutch-style|rustic", "turn|stand|spin", _PAINTED),
    "tent": _words("tent|camping tent|canvas tent|camper's tent", "pointed|roomy|pitched|snug", "stand|sit|wait"),
    "bridge": _words("bridge|footbridge|arched bridge|wooden bridge", "graceful|curved|narrow|high-arched",
                     "stand|arch|curve", _PAINTED),
    "car": _words("car|automobile|sedan|motor car|family car", "shiny|vintage|compact|polished|round-topped",
                  "drive|roll|cruise|wait", _PAINTED),
    "bus": _words("bus|coach|passenger bus|tour bus|minibus", "roomy|long|shiny|half-empty",
                  "roll|drive|wait|stop", _PAINTED),
    "truck": _words("truck|lorry|delivery truck|cargo truck", "heavy|sturdy|dependable|hard-working",
                    "rumble|drive|roll|wait", "with a %s cab"),
    "train": _words("train|steam train|locomotive|steam engine", "puffing|vintage|smoky|chugging",
                    "chug|steam|puff|roll", _PAINTED),
    "bicycle": _words("bicycle|bike|push bike|two-wheeler", "light|old-fashioned|trusty|slender",
                      "stand|wait|lean", "with a %s frame|painted %s"),
    "tractor": _words("tractor|farm tractor|farm vehicle", "muddy|powerful|hard-working|sturdy",
                      "rumble|stand|work|wait", _PAINTED),
    "rowboat": _words("rowboat|rowing boat|dinghy|skiff|wooden boat", "little|simple|weathered|idle",
                      "drift|float|bob|rest", _PAINTED),
    "sailboat": _words("sailboat|sailing boat|yacht|sloop", "elegant|swift|slender|graceful",
                       "sail|glide|drift", "with %s sails|under %s sails"),
    "steamship": _words("steamship|steamer|passenger ship|ocean liner", "stately|smoking|two-funnelled|mighty",
                        "steam|sail|cruise", "with a %s hull"),
    "submarine": _words("submarine|submersible|mini submarine|sub", "curious|round|sturdy|lamp-lit",
                        "dive|cruise|hover", _PAINTED),
    "rocket": _words("rocket|spaceship|space rocket|rocket ship", "roaring|fast|pointed|gleaming",
                     "fly|blast off|soar|zoom", _PAINTED),
    "plane": _words("plane|airplane|aeroplane|aircraft|airliner", "fast|sleek|gleaming|long-winged",
                    "fly|soar|cruise", _PAINTED),
    "hot_air_balloon": _words("hot-air balloon|hot air balloon", "striped|round|towering|majestic",
                              "float|drift|hover|rise", "with %s stripes"),
    "tree": _words("tree|leafy tree|broad-crowned tree|shade tree", "leafy|round|old|bushy", "stand|grow|sway",
                   "with %s leaves|with %s foliage"),
    "pine": _words("pine|pine tree|fir|fir tree|evergreen|conifer", "tall|pointed|slender|resinous",
                   "stand|grow|sway",
                   "with %s needles"),
    "palm": _words("palm|palm tree|coconut palm", "tropical|tall|slender|swaying", "stand|grow|sway"),
    "flower": _words("flower|blossom|bloom|wildflower|daisy", "fresh|fragrant|delicate|round-petalled",
                     "bloom|grow|nod", "with %s petals"),
    "mushroom": _words("mushroom|toadstool|spotted mushroom", "spotted|plump|magical|round", "grow|stand|sprout",
                       "with a %s cap"),
    "cactus": _words("cactus|saguaro|prickly cactus", "thorny|spiky|lonely", "stand|grow"),
    "pumpkin": _words("pumpkin|gourd|ripe pumpkin", "ripe|plump|round|heavy", "lie|sit|rest"),
    "cat": _words("cat|kitten|kitty|pussycat", "fluffy|curious|sleepy|whiskered|playful", "sit|wait|watch", _FUR),
    "dog": _words("dog|puppy|pup|hound", "loyal|playful|floppy-eared|friendly", "stand|wait|play", _FUR),
    "rabbit": _words("rabbit|bunny|hare|bunny rabbit", "long-eared|soft|shy|fluffy", "sit|wait|rest", _FUR),
    "sheep": _words("sheep|lamb|ewe", "woolly|gentle|fluffy|placid", "stand|graze|wait",
                    "with %s wool|with a %s fleece"),
    "elephant": _words("elephant|baby elephant|young elephant", "gentle|big-eared|wise|friendly",
                       "stand|wander|stroll", "with %s skin"),
    "bird": _words("bird|songbird|feathered friend", "chirpy|lively|swift|singing",
                   "fly|soar|flutter|glide", _FEATHERS),
    "owl": _words("owl|horned owl|owlet", "wise|wide-eyed|watchful|feathery", "sit|perch|stare", _FEATHERS),
    "penguin": _words("penguin|penguin chick|scarf-wearing penguin", "chubby|waddling|shy|funny", "stand|waddle|wait",
                      "with a %s back"),
    "butterfly": _words("butterfly|fluttering butterfly", "delicate|graceful|large-winged|dainty",
                        "flutter|dance|hover", "with %s wings"),
    "snail": _words("snail|garden snail|land snail", "slow|smiling|patient|slimy", "crawl|creep|rest",
                    "with a %s shell"),
    "fish": _words("fish|tropical fish|striped fish|reef fish", "striped|curious|shiny|darting", "swim|glide|dart",
                   "with %s scales"),
    "whale": _words("whale|baby whale|humpback", "friendly|gentle|smiling|enormous", "swim|glide|float",
                    "with a %s back"),
    "turtle": _words("turtle|tortoise|terrapin", "slow|patient|wise|smiling", "crawl|rest|wander", "with a %s shell"),
    "octopus": _words("octopus|eight-armed octopus", "smiling|wiggly|big-eyed|clever", "float|wave|swim"),
    "crab": _words("crab|crustacean|smiling crab", "sideways-walking|clawed|cheeky|grinning", "scuttle|sit|wave"),
    "duck": _words("duck|duckling|toy duck|rubber duck", "plump|cheerful|feathery|quacking", "swim|paddle|float|bob"),
    "balloon": _words("balloon|party balloon|toy balloon|birthday balloon", "round|shiny|lost|string-tied",
                      "float|drift|hover"),
    "kite": _words("kite|paper kite|diamond kite|toy kite", "fluttering|diamond-shaped|dancing|light",
                   "fly|soar|dance|flutter"),
    "umbrella": _words("umbrella|parasol|brolly", "open|elegant|wide|forgotten", "stand|rest"),
    "snowman": _words("snowman|frosty snowman", "jolly|smiling|carrot-nosed|hat-wearing", "stand|smile|wait",
                      "with a %s scarf|in a %s scarf|wearing a %s scarf"),
    "campfire": _words("campfire|bonfire|log fire|open fire", "crackling|warm|blazing|glowing", "burn|crackle|glow"),
    "bench": _words("bench|park bench|garden bench|slatted seat", "empty|wooden|inviting|long",
                    "stand|wait", _PAINTED),
    "lamp_post": _words("lamp post|street lamp|lantern post|street light", "glowing|old-fashioned|slim|iron",
                        "stand|glow|shine", _PAINTED),
    "robot": _words("robot|toy robot|android|droid", "friendly|metal|boxy|clever", "stand|wait|blink", _PAINTED),
    "sun": _words("sun|shining sun", "golden|bright|warm|radiant", "shine|beam|glow"),
    "moon": _words("moon|full moon", "pale|round|silvery|bright", "shine|glow|hang"),
    "cloud": _words("cloud|little cloud", "puffy|fluffy|soft|woolly-looking", "drift|float|hang"),
    "rainbow": _words("rainbow|full rainbow", "colourful|bright|glowing|seven-coloured", "arch|shine|curve"),
    "planet": _words("planet|ringed planet|gas giant", "faraway|mysterious|round|alien", "float|hang|spin"),
}  # fmt: skip
