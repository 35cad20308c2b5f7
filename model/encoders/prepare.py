"""A picture -> the size a network takes. A plain value without any network, so that reader processes can have it."""

from dataclasses import dataclass
from typing import Literal

from PIL import Image

_FILTERS = {
    "bicubic": Image.Resampling.BICUBIC,
    "bilinear": Image.Resampling.BILINEAR,
    "hamming": Image.Resampling.HAMMING,
}
# Larger pictures are first reduced by whole factors to no less than this many times the size: about twice as fast
# for 2000 x 1500, and hardly different. Up to there, it is the same as without.
GAP = 3.0
MAX_RATIO = 8  # of the sides, before cropping: a line of one pixel would grow to gigabytes


@dataclass(frozen=True)
class Preparation:
    size: int  # of both sides
    is_cropped: bool  # to the square in the middle; otherwise the whole picture is squashed
    filter: Literal["bicubic", "bilinear", "hamming"] = "bicubic"

    @property
    def enough(self) -> int:
        """A JPEG whose sides are at least twice this long may be decoded at half its size, and so on."""
        return round(self.size * GAP)

    def apply(self, image: Image.Image) -> Image.Image:
        """RGB of `size` by `size`; a picture that is that already stays what it is."""
        if image.size == (self.size, self.size):
            return image
        if not self.is_cropped:
            return self._resize(image, self.size, self.size)
        longest = MAX_RATIO * min(image.size)
        image = _middle(image, min(image.width, longest), min(image.height, longest))
        width, height = image.size
        if width <= height:
            resized = self._resize(image, self.size, int(self.size * height / width))
        else:
            resized = self._resize(image, int(self.size * width / height), self.size)
        return _middle(resized, self.size, self.size)

    def _resize(self, image: Image.Image, width: int, height: int) -> Image.Image:
        return image.resize((width, height), _FILTERS[self.filter], reducing_gap=GAP)


def _middle(image: Image.Image, width: int, height: int) -> Image.Image:
    if image.size == (width, height):
        return image
    left, top = round((image.width - width) / 2), round((image.height - height) / 2)
    return image.crop((left, top, left + width, top + height))
