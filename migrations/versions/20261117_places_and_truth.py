"""where in the upload an image lies, and the truth where the upload knows it"""

import sqlalchemy as sa
from alembic import op

revision = "5be7d20c94a1"
down_revision = "8c1f0e6b52d4"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("pairs", sa.Column("place", sa.String(), nullable=True))
    op.add_column("pairs", sa.Column("is_match", sa.Boolean(), nullable=True))


def downgrade() -> None:
    op.drop_column("pairs", "is_match")
    op.drop_column("pairs", "place")
