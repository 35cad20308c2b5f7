"""The columns of jsonl and parquet, in their order."""

import pyarrow as pa

_CLAIMED = pa.struct(
    [
        ("text", pa.string()),
        ("lemma", pa.string()),
        ("start", pa.int32()),
        ("end", pa.int32()),
        ("probability", pa.float32()),
        ("is_depicted", pa.bool_()),
        ("wrong", pa.string()),
        ("is_known", pa.bool_()),
    ]
)
_SHOWN = pa.struct(
    [
        ("lemma", pa.string()),
        ("probability", pa.float32()),
        ("mention", pa.float32()),
        ("is_mentioned", pa.bool_()),
        ("source", pa.string()),
    ]
)
ELEMENTS = pa.struct([("caption", pa.list_(_CLAIMED)), ("image", pa.list_(_SHOWN))])


def _suggestion(side: str) -> pa.DataType:
    common = [("uid", pa.string()), ("row", pa.int64()), ("similarity", pa.float32()), ("confidence", pa.float32())]
    return pa.struct([*common, (side, pa.string())])


REPAIR = pa.struct([("captions", pa.list_(_suggestion("caption"))), ("images", pa.list_(_suggestion("url")))])

SCHEMA = pa.schema(
    [
        ("uid", pa.string()),
        ("row", pa.int64()),
        ("url", pa.string()),
        ("caption", pa.string()),
        ("label", pa.string()),
        ("extra", pa.string()),
        ("status", pa.string()),
        ("error_class", pa.string()),
        ("error_message", pa.string()),
        ("width", pa.int32()),
        ("height", pa.int32()),
        ("sha256", pa.string()),
        ("similarity", pa.float32()),
        ("clean_confidence", pa.float32()),
        ("confidence_a", pa.float32()),
        ("confidence_b", pa.float32()),
        ("rectified_correspondence", pa.float32()),
        ("uncertainty", pa.float32()),
        ("label_confidence", pa.float32()),
        ("predicted_label", pa.string()),
        ("weight", pa.float32()),
        ("neighbour_agreement", pa.float32()),
        ("clip_similarity", pa.float32()),
        ("eme", pa.float32()),
        ("eme_soft", pa.float32()),
        ("is_mismatch_issue", pa.bool_()),
        ("split", pa.string()),
        ("review", pa.string()),
        ("run_id", pa.string()),
        ("elements", ELEMENTS),
        ("repair", REPAIR),
    ]
)
# In a corrected file: the row whose caption it took, null where it is its own.
CORRECTED_SCHEMA = SCHEMA.append(pa.field("corrected_from", pa.int64()))
