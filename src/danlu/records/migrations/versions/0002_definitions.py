"""Definitions: algorithms and data sets, one row for every version."""

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"

# Sorted by bytes in every database.
WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "definitions",
        sa.Column("kind", WORD, primary_key=True),
        sa.Column("name", WORD, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("document", sa.Text),
    )
