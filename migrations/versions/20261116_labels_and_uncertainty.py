"""labels of pairs, and what methods say of labels and of their own uncertainty"""

import sqlalchemy as sa
from alembic import op

revision = "8c1f0e6b52d4"
down_revision = "3a453a9207da"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # All nullable or with a constant default: no table is rewritten.
    op.add_column("pairs", sa.Column("label", sa.String(), nullable=True))
    op.add_column("collections", sa.Column("labelled", sa.BigInteger(), server_default=sa.text("0"), nullable=False))
    op.add_column("scores", sa.Column("uncertainty", sa.REAL(), nullable=True))
    op.add_column("scores", sa.Column("label_confidence", sa.REAL(), nullable=True))
    op.add_column("scores", sa.Column("predicted_label", sa.String(), nullable=True))
    op.create_check_constraint(
        op.f("ck_collections_labels_within_accepted"), "collections", "labelled BETWEEN 0 AND accepted"
    )


def downgrade() -> None:
    op.drop_constraint(op.f("ck_collections_labels_within_accepted"), "collections", type_="check")
    op.drop_column("scores", "predicted_label")
    op.drop_column("scores", "label_confidence")
    op.drop_column("scores", "uncertainty")
    op.drop_column("collections", "labelled")
    op.drop_column("pairs", "label")
