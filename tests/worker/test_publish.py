"""Binary COPY rows, read back through PostgreSQL itself."""

from uuid import uuid4

import numpy as np
from sqlalchemy import Engine, text

from model.engine import Scores
from worker.stages.publish import COPY_HEADER, COPY_TRAILER, FLOATS, binary_rows


def scores(count: int) -> Scores:
    rng = np.random.default_rng(0)
    floats = {name: rng.random(count).astype(np.float32) for name in FLOATS}
    return Scores(**floats, is_clean=floats["clean_confidence"] > 0.5, noise_rate=0.3, threshold=0.5)


class TestBinaryRows:
    def test_postgres_reads_back_what_was_meant(self, quiet_engine: Engine) -> None:
        given, run_id, rows = scores(1000), uuid4(), np.arange(5, 1005, dtype=np.int64)
        with quiet_engine.begin() as connection:
            connection.execute(text("CREATE TEMP TABLE copied (LIKE scores) ON COMMIT DROP"))
            cursor = connection.connection.cursor()
            with cursor.copy("COPY copied FROM STDIN (FORMAT BINARY)") as copy:
                copy.write(COPY_HEADER)
                copy.write(binary_rows(run_id, rows, given, slice(0, 600)))
                copy.write(binary_rows(run_id, rows, given, slice(600, 1200)))
                copy.write(COPY_TRAILER)
            found = connection.execute(text("SELECT * FROM copied ORDER BY row")).all()
        assert [line.row for line in found] == rows.tolist()
        assert {line.run_id for line in found} == {run_id}
        assert [line.is_clean for line in found] == given.is_clean.tolist()
        for name in FLOATS:
            assert np.array_equal(np.array([getattr(line, name) for line in found], np.float32), getattr(given, name))
