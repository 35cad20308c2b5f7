"""elements of caption and image with their score, and what would repair flagged pairs"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "e71a0b95c2d8"
down_revision = "c4d81f7a60be"
branch_labels = None
depends_on = None

SCORES = ("eme", "eme_soft")


def upgrade() -> None:
    for name in SCORES:
        op.add_column("scores", sa.Column(name, sa.REAL(), nullable=True))
    op.create_table(
        "explanations",
        sa.Column("run_id", sa.Uuid(), nullable=False),
        sa.Column("row", sa.BigInteger(), nullable=False),
        sa.Column("elements", postgresql.JSONB(), nullable=False),
        sa.Column("repair", postgresql.JSONB(), nullable=True),
        sa.PrimaryKeyConstraint("run_id", "row", name=op.f("pk_explanations")),
    )


def downgrade() -> None:
    op.drop_table("explanations")
    for name in SCORES:
        op.drop_column("scores", name)
