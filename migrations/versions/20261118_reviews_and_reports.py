"""reviews; reports of runs; runs that borrow another run's networks; scores that only some runs have"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "c4d81f7a60be"
down_revision = "9d06c1a7e3f2"
branch_labels = None
depends_on = None

SCORES = ("weight", "neighbour_agreement", "clip_similarity")


def upgrade() -> None:
    op.add_column("runs", sa.Column("report", postgresql.JSONB(), nullable=True))
    op.add_column("runs", sa.Column("model_run_id", sa.Uuid(), nullable=True))
    op.create_foreign_key(op.f("fk_runs_model_run_id"), "runs", "runs", ["model_run_id"], ["id"], ondelete="SET NULL")
    for name in SCORES:
        op.add_column("scores", sa.Column(name, sa.REAL(), nullable=True))
    op.create_table(
        "reviews",
        sa.Column("collection_id", sa.Uuid(), nullable=False),
        sa.Column("uid", sa.Uuid(), nullable=False),
        sa.Column("verdict", sa.String(length=8), nullable=False),
        sa.Column("reason", sa.String(length=16), nullable=False),
        sa.Column("reviewer", sa.String(), nullable=False),
        sa.Column("note", sa.String(), nullable=True),
        sa.Column("run_id", sa.Uuid(), nullable=True),
        sa.Column("reviewed_at", sa.DateTime(timezone=True), server_default=sa.text("now()"), nullable=False),
        sa.CheckConstraint("verdict IN ('match', 'mismatch', 'unsure')", name=op.f("ck_reviews_verdict_known")),
        sa.CheckConstraint(
            "reason IN ('audit', 'disagreement', 'near_cut', 'chosen')", name=op.f("ck_reviews_reason_known")
        ),
        sa.ForeignKeyConstraint(
            ["collection_id"],
            ["collections.id"],
            name=op.f("fk_reviews_collection_id"),
            ondelete="CASCADE",
        ),
        sa.ForeignKeyConstraint(["run_id"], ["runs.id"], name=op.f("fk_reviews_run_id"), ondelete="SET NULL"),
        sa.PrimaryKeyConstraint("collection_id", "uid", name=op.f("pk_reviews")),
    )


def downgrade() -> None:
    op.drop_table("reviews")
    for name in SCORES:
        op.drop_column("scores", name)
    op.drop_constraint(op.f("fk_runs_model_run_id"), "runs", type_="foreignkey")
    op.drop_column("runs", "model_run_id")
    op.drop_column("runs", "report")
