"""DataComp metadata: Parquet files (uid, url, text, ...), and beside each, of the same stem, an .npz with features.

Without the .npz files it is one table over several files. Arrays in an .npz are mapped where they lie; compressed ones
are unpacked once, because a training reads rows at random.
"""

from model.data.folders.arrays import Part, Stacked, map_array, read_header
from model.data.folders.clip_retrieval import check_rows
from model.data.folders.fields import pick
from model.data.folders.folder import Folder
from model.data.folders.listing import Listing
from model.data.folders.names import is_tar_name, last_extension, stem_of
from model.data.folders.parquet_rows import ParquetRows
from model.data.folders.tabular import URL_NAMES, FeatureTables
from model.data.folders.zips import ZipFolder
from model.data.rows import FileError
from model.data.source import ReadOptions

FORMAT = "datacomp"
EXPECTED = "Parquet files with a URL and a caption, with an .npz of the same stem beside each where there are features"
KINDS = ("l14", "b32")  # the better features first


def find(folder: Folder, listing: Listing, options: ReadOptions) -> FeatureTables | None:
    names = listing.names(lambda name: last_extension(name) == "parquet")
    npz = {stem_of(name): name for name in listing.names(lambda name: last_extension(name) == "npz")}
    is_alone = len(names) < 2 and not npz and options.input_format != FORMAT
    if not names or is_alone or listing.images or listing.names(is_tar_name):
        return None
    tables = [ParquetRows(folder.locate(listing.files[name]), name) for name in names]
    if not npz and pick(tables[0].names, options.url_column, URL_NAMES, "URL") is None:
        return None
    source = FeatureTables(FORMAT, folder, listing, options, tables)
    if npz:
        missing = [name for name in names if stem_of(name) not in npz]
        if missing:
            raise FileError(
                "shards_incomplete", f"There is no .npz beside {', '.join(missing[:5])}. Add or remove them."
            )
        archives = [_open_npz(folder, listing, npz[stem_of(name)]) for name in names]
        kind = _kind(archives[0], options.features)
        stacks = [_stack(archives, f"{kind}_{side}", tables) for side in ("img", "txt")]
        source.add_features(stacks[0], stacks[1])
    return source


def _open_npz(folder: Folder, listing: Listing, name: str) -> ZipFolder:
    return ZipFolder(folder.locate(listing.files[name]), folder.scratch, name)


def _kind(archive: ZipFolder, wanted: str | None) -> str:
    names = {member.name.removesuffix(".npy") for member in archive.members()}
    found = [kind for kind in KINDS if {f"{kind}_img", f"{kind}_txt"} <= names]
    if (wanted is None and not found) or (wanted is not None and wanted not in found):
        raise FileError(
            "no_features",
            f"{archive.label} holds {', '.join(sorted(names))[:200]}; "
            + (
                f"there are no features {wanted!r}."
                if wanted
                else "expected are l14_img and l14_txt, or b32_img and b32_txt."
            ),
        )
    return wanted or found[0]


def _stack(archives: list[ZipFolder], name: str, tables: list[ParquetRows]) -> Stacked:
    parts = [_part(archive, name) for archive in archives]
    for part, table in zip(parts, tables, strict=True):
        check_rows(part, table)
    return Stacked(parts)


def _part(archive: ZipFolder, name: str) -> Part:
    member = archive.find(f"{name}.npy")
    label = f"{archive.label} ({name})"
    with archive.open(member) as stream:
        header = read_header(stream, label)
    return Part(label, header, lambda: map_array(archive.locate(member), label))
