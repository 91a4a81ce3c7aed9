"""What a node's GPUs hold and do, for servers that did not take its reports themselves."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("nodes", sa.Column("load", sa.LargeBinary(), nullable=True))


def downgrade() -> None:
    op.drop_column("nodes", "load")
