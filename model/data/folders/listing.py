"""What lies in a folder, as far as its format can be told from it: all names but those of images."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field

from model.data.folders.folder import Folder
from model.data.folders.names import Member, is_image, last_extension, natural, split_key
from model.data.rows import FileError

PEEK_MEMBERS = 2_000  # enough to see that images come with a caption each; the rest need not be listed
MAX_FILES = 100_000  # shards, tables, arrays: far more than any collection has; their names are held in memory
_CAPTIONS = ("txt", "json")


@dataclass
class Listing:
    files: dict[str, Member] = field(default_factory=dict)  # all that can be read and is no image
    images: int = 0
    image_folder: str | None = None  # the one folder that holds all images
    ignored: Counter[str] = field(default_factory=Counter)  # why members were left out
    is_samples: bool = False  # images with a .txt or .json of the same key beside them

    def names(self, fits: Callable[[str], bool]) -> list[str]:
        """Names that fit, shard 2 before shard 10."""
        return sorted((name for name in self.files if fits(name)), key=natural)

    def show(self) -> str:
        """What was found, for a message."""
        kinds = Counter(f".{last_extension(name)}" if "." in name else "files without extension" for name in self.files)
        found = [f"{count:,} {kind}" for kind, count in kinds.most_common(6)]
        if self.images:
            found.insert(0, f"{self.images:,} images")
        for name in sorted(self.files)[:3]:
            found.append(f"e.g. {name}")
        return ", ".join(found) or "nothing that can be read"


def scan(folder: Folder, *, whole: bool = False) -> Listing:
    """List a folder; unless `whole`, stop as soon as it is seen to be made of samples."""
    listing, peek = Listing(), _Peek()
    for number, member in enumerate(folder.members(), start=1):
        _add(listing, member)
        if number <= PEEK_MEMBERS and not member.is_hidden and member.problem is None:
            peek.add(member.name)
        if number == PEEK_MEMBERS and peek.is_samples and not whole:
            break
        if len(listing.files) > MAX_FILES:
            raise FileError(
                "too_many_members",
                f"{folder.label} holds more than {MAX_FILES:,} files that are no images. Pack samples as tars.",
            )
    listing.is_samples = peek.is_samples
    return listing


class _Peek:
    """Whether the first images have a caption of the same key beside them: half of them is enough."""

    def __init__(self) -> None:
        self._images = self._samples = 0
        self._key, self._kinds = "", set[str]()

    @property
    def is_samples(self) -> bool:
        return 2 * self._samples >= self._images > 0

    def add(self, name: str) -> None:
        key, extension = split_key(name)
        if key != self._key:
            self._key, self._kinds = key, set()
        was_sample = self._is_sample()
        self._kinds.add("image" if is_image(name) else extension.rpartition(".")[2])
        self._images += is_image(name)
        self._samples += self._is_sample() and not was_sample

    def _is_sample(self) -> bool:
        return "image" in self._kinds and not self._kinds.isdisjoint(_CAPTIONS)


def _add(listing: Listing, member: Member) -> None:
    if member.problem is not None:
        listing.ignored[member.problem] += 1
    elif member.is_hidden:
        listing.ignored["hidden file"] += 1
    elif is_image(member.name):
        parent = member.name.rpartition("/")[0]
        listing.image_folder = parent if listing.images == 0 or listing.image_folder == parent else None
        listing.images += 1
    else:
        listing.files[member.name] = member
