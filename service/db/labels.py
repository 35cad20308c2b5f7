"""Whether a collection has the labels that a method learns from: asked when a run is started, and again when its
first stage begins, because a run may be started while the file is still being read."""

from model.config import RunConfig
from service.db.tables import Collection

CODE, TITLE = "labels_missing", "The method needs labels"


def why_labels_are_missing(collection: Collection, config: RunConfig) -> str | None:
    """A sentence for the user, or None where nothing is missing."""
    if not config.method_options.needs_labels or collection.labelled == collection.accepted:
        return None
    lacking = f"{collection.accepted - collection.labelled:,} of its {collection.accepted:,} pairs have no label"
    what = lacking if collection.labelled else "the collection has no label column"
    return (
        f"The method {config.method} learns from a label of every pair, but {what}. Upload a file with one (a column "
        "named label, category or class), or set method_options.clusters to make that many pseudo-categories from the "
        "captions."
    )
