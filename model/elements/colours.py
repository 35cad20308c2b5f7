"""Names of colours, by the plain colour that each is a shade of; without those that name a plant or a food as well."""

_SHADES = {
    "red": "scarlet crimson ruby maroon burgundy",
    "orange": "tangerine",
    "yellow": "canary mustard",
    "green": "emerald olive khaki",
    "turquoise": "teal aqua aquamarine cyan",
    "blue": "navy cobalt sapphire azure indigo",
    "purple": "violet lilac mauve magenta",
    "pink": "fuchsia",
    "brown": "tan beige",
    "black": "ebony",
    "white": "ivory",
    "grey": "gray silver",
}
_PLAIN = {shade: colour for colour, shades in _SHADES.items() for shade in (colour, *shades.split())}


def basic_colour(word: str) -> str | None:
    """`scarlet` and `cherry-red` are red, `violet-coloured` is purple; None for what is no colour."""
    parts = [part for part in word.split("-") if part not in ("coloured", "colored")]
    return _PLAIN.get(parts[-1]) if parts else None
