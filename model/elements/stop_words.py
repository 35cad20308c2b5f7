"""English words with a part to play in captions: what never is an element, what counts, what quantifies."""


def word_set(text: str) -> frozenset[str]:
    return frozenset(text.split())


PICTURES = word_set(
    "photo photograph photography pic picture image img snapshot shot closeup close-up selfie illustration drawing "
    "painting cartoon artwork art sketch clip clipart print vector wallpaper poster postcard thumbnail portrait render "
    "rendering graphic footage frame screenshot file stock card storybook collage jpg jpeg png gif"
)  # their modifiers and possessors ("stock photo", "children's book illustration") go with them
VIEWS = word_set("background foreground backdrop view scene scenery sight")  # "mountain view" is a mountain
VAGUE = word_set(
    "side front back top bottom left right middle center centre rear end edge left-hand right-hand distance direction "
    "viewer copy text air midair day time moment year month week hour minute today way kind type sort lot bit number "
    "amount piece part variety series thing something anything nothing everything someone somebody anyone everyone "
    "other others one ones self myself himself herself itself themselves yourself ourselves length example title "
    "caption close sale size price royalty www http https com amp nbsp quot"
)
STOPPED = PICTURES | VIEWS | VAGUE

# Before "of": they say how many or how much, and the next noun is what is shown.
QUANTITIES: dict[str, int | None] = {
    "pair": 2, "couple": 2, "duo": 2, "trio": 3, "dozen": 12, "group": None, "bunch": None, "handful": None,
    "body": None, "row": None, "set": None, "collection": None, "pack": None, "cluster": None, "assortment": None,
    "plenty": None, "dozens": None, "hundreds": None, "lots": None, "couples": None, "pairs": None, "groups": None,
    "selection": None, "multitude": None, "array": None,
    "patch": None, "stretch": None, "expanse": None, "flight": None, "flock": None,
    "herd": None, "swarm": None, "slice": None,
}  # fmt: skip
NUMBERS = {
    "a": 1, "an": 1, "another": 1, "this": 1, "single": 1, "lone": 1,
    "one": 1, "two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "seven": 7, "eight": 8, "nine": 9, "ten": 10,
    "eleven": 11, "twelve": 12, "dozen": 12,
}  # fmt: skip
COLOURS = word_set(
    "red orange yellow green turquoise teal aqua blue purple violet pink brown black white grey gray beige tan scarlet "
    "crimson maroon magenta cyan indigo navy silver gold golden ivory khaki tangerine emerald "
    "aquamarine multicolored multicoloured colorful colourful"
)
# What the eye cannot check, and what would only part equal elements.
OPINIONS = word_set(
    "beautiful lovely cute pretty nice great good charming cheerful delightful splendid wonderful gorgeous stunning "
    "amazing awesome adorable attractive perfect best favorite favourite famous popular real original "
    "magnificent fantastic incredible interesting special"
)
# After an adjective or a noun these make one attribute with it: "brown haired", "snow covered".
JOINED = word_set(
    "haired sleeved colored coloured eyed legged eared nosed shaped sized clad covered faced tailed footed winged "
    "capped lined skinned necked"
)
UNCHANGED = word_set("fish sheep deer moose bison aircraft spacecraft salmon trout squid shrimp")  # in the plural
PLURAL_ONLY = word_set(
    "glasses sunglasses eyeglasses goggles pants jeans shorts trousers tights leggings overalls scissors binoculars "
    "clothes headphones earphones pajamas pyjamas trunks chaps stairs bleachers woods people cattle police "
    "underpants panties boxers slacks khakis tongs pliers briefs outskirts highlands"
)
