"""Jobs: one row each, with the whole job as JSON and the columns for searches."""

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

# Sorted by bytes in every database.
WORD = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")


def upgrade() -> None:
    op.create_table(
        "jobs",
        sa.Column("id", WORD, primary_key=True),
        sa.Column("name", WORD, nullable=False, unique=True),
        sa.Column("state", WORD, nullable=False),
        sa.Column("priority", sa.Integer, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("token", WORD, unique=True),
        sa.Column("document", sa.Text, nullable=False),
    )
    op.create_index("jobs_by_state", "jobs", ["state", "id", "name"])
    op.create_index("jobs_by_id", "jobs", ["id", "name"])
