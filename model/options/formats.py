"""The input formats by name; the readers are in model/data/."""

FORMATS: dict[str, str] = {
    "tsv": "lines with a URL and a caption, TAB between them (Conceptual Captions), gz or zst too",
    "csv": "comma or semicolon between columns, quotes as in RFC 4180, gz or zst too",
    "jsonl": "one JSON object a line, gz or zst too",
    "parquet": "one Parquet file",
    "webdataset": "tar shards with key.jpg, key.txt and key.json",
    "img2dataset": "a folder of NNNNN.tar with NNNNN.parquet, as img2dataset writes it",
    "clip-retrieval": "img_emb, text_emb and metadata, as clip-retrieval writes them",
    "datacomp": "DataComp metadata: Parquet files, with npz files of features beside them",
    "precomp": "the papers' folders: SPLIT_ims.npy with SPLIT_caps.txt or SPLIT_caps.tsv",
    "video": "one array of pooled features with a table of captions",
    "images": "image files with one table that names them",
}
