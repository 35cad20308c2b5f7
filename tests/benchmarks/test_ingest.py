"""The benchmark of the ingest: its report is complete and true to the run. No time is asserted here."""

from collections.abc import Callable
from pathlib import Path

from sqlalchemy import text

from benchmarks import ingest
from service.db.session import make_engine


class TestMeasure:
    def test_both_ways_store_the_same_rows(self, new_database: Callable[[], str], tmp_path: Path) -> None:
        url = new_database()
        report = ingest.measure(url, tmp_path, 3_000)
        assert report["rows"] == 3_000
        assert report["rows_per_second"].keys() == {"ingest", "raw_copy"}
        assert 0 < report["peak_megabytes"] < 2_000
        engine = make_engine(url)
        with engine.connect() as connection:
            both = "SELECT count(*) FROM (SELECT * FROM pairs INTERSECT SELECT * FROM raw_pairs) AS same"
            assert connection.scalar(text(both)) == 3_000
        engine.dispose()
