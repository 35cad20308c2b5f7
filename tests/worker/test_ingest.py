"""The ingest stage on a database that no worker looks at: what is read arrives as it was, all of it or nothing."""

import gzip
import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import Engine, select

from model.data.rows import Pair as ReadPair
from model.data.rows import Reject as ReadReject
from model.data.rows import pair_uid
from service.config import Settings
from service.db.session import transaction
from service.db.states import CollectionState
from service.db.tables import Collection, Pair, Reject, Stage
from service.storage import Storage
from tests.factories import make_collection
from tests.service.machine import claimed, get, new_ingest, stages
from worker.lease import Lease, Stopped, shutdown
from worker.stages import ingest
from worker.stages.context import StageContext, StageFailed

URL = "http://127.0.0.1/1.png"
GOOD = f"a red house\t{URL}\n".encode()
HOSTILE = [
    "\\N",
    "\\.",
    "a\\tb",
    "\\",
    "tab\there",
    "new\nline",
    "cr\rlf\r\n",
    "👩‍👩‍👧",
    "עברית",
    "e\u0301",
    "' OR 1=1",
    "\\x41",
    "a\u2028b",
]


@pytest.fixture
def collection_id(quiet_engine: Engine) -> UUID:
    return new_ingest(quiet_engine)


def run(engine: Engine, id: UUID, storage: Path, content: bytes | None, **options: Any) -> Collection:
    """Upload the content, run the stage, return what became of the collection."""
    with transaction(engine) as session:
        session.get_one(Collection, id).read_options = options
    if content is not None:
        upload = Storage(storage).upload(id)
        upload.parent.mkdir(parents=True, exist_ok=True)
        upload.write_bytes(content)
    [stage] = stages(engine, Stage.collection_id == id)
    settings = Settings(image_roots=(storage / "allowed",))
    lease = Lease(engine, claimed(engine, stage.id), settings)
    ingest.run(StageContext(lease, Storage(storage)))
    return get(engine, Collection, id)  # type: ignore[no-any-return]


def stored(engine: Engine, table: type[Any], id: UUID) -> list[Any]:
    with transaction(engine) as session:
        return list(session.scalars(select(table).where(table.collection_id == id).order_by(table.row)))


class TestRun:
    def test_every_character_arrives_as_it_was(self, quiet_engine: Engine, collection_id: UUID, tmp_path: Path) -> None:
        records = [{"url": URL, "caption": text, "other": text, "label": text} for text in HOSTILE]
        content = "".join(json.dumps(record) + "\n" for record in records).encode()
        collection = run(quiet_engine, collection_id, tmp_path, content)
        pairs = stored(quiet_engine, Pair, collection_id)
        assert [pair.caption for pair in pairs] == HOSTILE
        assert [pair.label for pair in pairs] == HOSTILE
        assert [json.loads(pair.extra) for pair in pairs] == [{"other": text, "label": text} for text in HOSTILE]
        assert [pair.uid.hex for pair in pairs] == [pair_uid(URL, text) for text in HOSTILE]
        assert {(pair.place, pair.is_match) for pair in pairs} == {(None, None)}
        assert (collection.state, collection.accepted, collection.labelled) == ("ready", 13, 13)
        assert collection.format is not None
        assert (collection.format["format"], collection.format["images"]) == ("jsonl", "urls")

    @pytest.mark.parametrize("size", [1, 300, 1 << 20])
    def test_counts_do_not_depend_on_where_blocks_end(
        self,
        quiet_engine: Engine,
        collection_id: UUID,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
        size: int,
    ) -> None:
        monkeypatch.setattr(ingest, "BLOCK_CHARACTERS", size)
        content = (GOOD + b"no tab\n" + GOOD + b"\xff\t" + GOOD) * 20
        collection = run(quiet_engine, collection_id, tmp_path, content)
        assert (collection.lines_read, collection.accepted, collection.rejected) == (80, 40, 40)
        assert collection.reject_reasons == {"not_utf8": 20, "too_few_columns": 20}
        assert [pair.row for pair in stored(quiet_engine, Pair, collection_id)] == [i for i in range(1, 81) if i % 2]
        rejects = stored(quiet_engine, Reject, collection_id)
        assert [reject.row for reject in rejects] == [i for i in range(1, 81) if not i % 2]
        assert rejects[1].text == f"\ufffd\ta red house\t{URL}"

    @pytest.mark.parametrize(
        ("content", "code"),
        [
            (
                gzip.compress(
                    b"".join(
                        hashlib.sha256(b"%d" % i).digest().hex().encode() + b"\t" + GOOD[12:] for i in range(30_000)
                    )
                )[:-9],
                "gzip_cut_short",
            ),
            (b"a\tnot a url\n" * 3 + b"\t" + GOOD[12:], "nothing_usable"),
            (b"one column\n", "one_column"),
        ],
        ids=["breaks off", "nothing usable", "hopeless"],
    )
    def test_bad_file_leaves_nothing_and_says_why(
        self, quiet_engine: Engine, collection_id: UUID, tmp_path: Path, content: bytes, code: str
    ) -> None:
        with pytest.raises(StageFailed) as failed:
            run(quiet_engine, collection_id, tmp_path, content)
        assert failed.value.problem["code"] == code
        assert stored(quiet_engine, Pair, collection_id) == stored(quiet_engine, Reject, collection_id) == []
        assert get(quiet_engine, Collection, collection_id).state == CollectionState.INGESTING

    def test_a_stop_is_heeded_and_leaves_nothing(
        self, quiet_engine: Engine, collection_id: UUID, tmp_path: Path
    ) -> None:
        shutdown.set()
        try:
            with pytest.raises(Stopped):
                run(quiet_engine, collection_id, tmp_path, GOOD * 10)
        finally:
            shutdown.clear()
        assert stored(quiet_engine, Pair, collection_id) == []

    def test_options_are_heeded(self, quiet_engine: Engine, collection_id: UUID, tmp_path: Path) -> None:
        options = {"input_format": "csv", "caption_column": "words", "image_root": "/images"}
        collection = run(quiet_engine, collection_id, tmp_path, b"words,caption,path\na dog,x,1/2.png\n", **options)
        [pair] = stored(quiet_engine, Pair, collection.id)
        assert (pair.url, pair.caption, pair.extra) == ("1/2.png", "a dog", '{"caption": "x"}')

    def test_file_below_an_image_root_is_read_in_place(
        self, quiet_engine: Engine, collection_id: UUID, tmp_path: Path
    ) -> None:
        path = tmp_path / "allowed" / "sub" / "pairs.tsv"
        path.parent.mkdir(parents=True)
        path.write_bytes(GOOD)
        assert run(quiet_engine, collection_id, tmp_path, None, folder=str(path)).accepted == 1

    @pytest.mark.parametrize("name", ["pairs.tsv", "allowed/../pairs.tsv", "allowed/link.tsv"])
    def test_file_elsewhere_is_blocked(
        self, quiet_engine: Engine, collection_id: UUID, tmp_path: Path, name: str
    ) -> None:
        (tmp_path / "allowed").mkdir()
        (tmp_path / "pairs.tsv").write_bytes(GOOD)
        (tmp_path / "allowed" / "link.tsv").symlink_to(tmp_path / "pairs.tsv")
        with pytest.raises(StageFailed) as failed:
            run(quiet_engine, collection_id, tmp_path, None, folder=str(tmp_path / name))
        assert failed.value.problem["code"] == "blocked_path"


class TestMakeBlocks:
    def test_places_and_truth_arrive(self, quiet_engine: Engine) -> None:
        def rows() -> Iterator[ReadPair | ReadReject]:
            for row, truth in enumerate((True, False, None), start=1):
                uid = pair_uid(URL, "a")
                yield ReadPair(row, uid, URL, "a", None, place=f"{row}\t.jpg", is_match=truth)

        with transaction(quiet_engine) as session:
            id = make_collection(session).id
            [block] = ingest.make_blocks(rows(), id)
            with session.connection().connection.cursor().copy(ingest.COPY_PAIRS) as copy:
                copy.write("".join(block.pairs))
        found = [(pair.place, pair.is_match) for pair in stored(quiet_engine, Pair, id)]
        assert found == [("1\t.jpg", True), ("2\t.jpg", False), ("3\t.jpg", None)]

    def test_no_rows_make_no_block(self) -> None:
        assert list(ingest.make_blocks(iter([]), UUID(int=0))) == []
