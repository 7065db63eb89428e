"""Servers that share the records, and the values they have agreed on."""

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"
# Sorted by bytes in every database.
WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "servers",
        sa.Column("name", WORD, primary_key=True),
        sa.Column("fence", sa.Integer, nullable=False),
        sa.Column("until", sa.Float, nullable=False),
        sa.Column("host", sa.Text, nullable=False),
        sa.Column("executor", sa.Text, nullable=False),
        sa.Column("url", sa.Text, nullable=False),
    )
    op.create_table(
        "agreements",
        sa.Column("name", WORD, primary_key=True),
        sa.Column("value", sa.Text, nullable=False),
    )
