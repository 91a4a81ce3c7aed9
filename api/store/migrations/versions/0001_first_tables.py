"""The first tables."""

from __future__ import annotations

import time

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

NUMBER = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def upgrade() -> None:
    op.create_table(
        "audit",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("who", sa.String(length=255), nullable=False),
        sa.Column("what", sa.String(length=32), nullable=False),
        sa.Column("subject", sa.String(length=512), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    op.create_index("audit_subject", "audit", ["subject"], unique=False)
    op.create_table(
        "changes",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("at", sa.Double(), nullable=False),
        sa.Column("node_id", NUMBER, nullable=False),
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("finding_id", sa.String(length=32), nullable=False),
        sa.Column("what", sa.String(length=16), nullable=False),
        sa.Column("quiet", sa.String(length=16), nullable=True),
        sa.Column("source", sa.String(length=16), nullable=False),
        sa.Column("finding", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
        sqlite_autoincrement=True,
    )
    _begin_cursors()
    op.create_index("changes_at", "changes", ["at"], unique=False)
    op.create_index("changes_finding", "changes", ["finding_id"], unique=False)
    op.create_table(
        "maintenance",
        sa.Column("node_id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("since", sa.Double(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("by", sa.String(length=255), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("node_id"),
    )
    op.create_table(
        "mutes",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("node", sa.String(length=255), nullable=False),
        sa.Column("rule", sa.String(length=64), nullable=True),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("until", sa.Double(), nullable=False),
        sa.Column("by", sa.String(length=255), nullable=False),
        sa.Column("why", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("mutes_until", "mutes", ["until"], unique=False)
    op.create_table(
        "nodes",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("name", sa.String(length=255), nullable=False),
        sa.Column("first_seen", sa.Double(), nullable=False),
        sa.Column("last_seen", sa.Double(), nullable=False),
        sa.Column("version", sa.BigInteger(), nullable=False),
        sa.Column("verdict", sa.LargeBinary(), nullable=True),
        sa.Column("changed_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("name"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(length=16), nullable=False),
        sa.Column("hash", sa.LargeBinary(), nullable=False),
        sa.Column("role", sa.String(length=16), nullable=False),
        sa.Column("node", sa.String(length=255), nullable=True),
        sa.Column("note", sa.Text(), nullable=False),
        sa.Column("created_at", sa.Double(), nullable=False),
        sa.Column("revoked_at", sa.Double(), nullable=True),
        sa.PrimaryKeyConstraint("id"),
        sa.UniqueConstraint("hash"),
    )
    op.create_table(
        "findings",
        sa.Column("id", sa.String(length=32), nullable=False),
        sa.Column("node_id", NUMBER, nullable=False),
        sa.Column("rule", sa.String(length=64), nullable=False),
        sa.Column("severity", sa.String(length=16), nullable=False),
        sa.Column("state", sa.String(length=16), nullable=False),
        sa.Column("opened_at", sa.Double(), nullable=False),
        sa.Column("ended_at", sa.Double(), nullable=True),
        sa.Column("episode", sa.LargeBinary(), nullable=False),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("findings_ended", "findings", ["ended_at"], unique=False)
    op.create_index("findings_node_ended", "findings", ["node_id", "ended_at"], unique=False)
    op.create_table(
        "snapshots",
        sa.Column("id", NUMBER, autoincrement=True, nullable=False),
        sa.Column("node_id", NUMBER, nullable=False),
        sa.Column("taken_at", sa.Double(), nullable=False),
        sa.Column("received_at", sa.Double(), nullable=False),
        sa.Column("start_key", sa.BigInteger(), nullable=False),
        sa.Column("sequence", sa.BigInteger(), nullable=False),
        sa.Column("body", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["node_id"],
            ["nodes.id"],
        ),
        sa.PrimaryKeyConstraint("id"),
    )
    op.create_index("snapshots_node_taken", "snapshots", ["node_id", "taken_at"], unique=False)
    op.create_index("snapshots_once", "snapshots", ["start_key", "sequence"], unique=True)
    op.create_table(
        "windows",
        sa.Column("node_id", NUMBER, autoincrement=False, nullable=False),
        sa.Column("packed_at", sa.Double(), nullable=False),
        sa.Column("packed", sa.LargeBinary(), nullable=False),
        sa.ForeignKeyConstraint(
            ["node_id"],
            ["nodes.id"],
        ),
        sa.PrimaryKeyConstraint("node_id"),
    )


def _begin_cursors() -> None:
    """Cursors rise from the present millisecond on.

    A store that is begun anew so gives higher ones than the store before, and who reads on after a cursor
    of that one misses nothing.
    """
    now = int(time.time() * 1_000)
    if op.get_bind().dialect.name == "sqlite":
        op.execute(f"INSERT INTO sqlite_sequence (name, seq) VALUES ('changes', {now})")
    else:
        op.execute(f"ALTER SEQUENCE changes_id_seq RESTART WITH {now}")


def downgrade() -> None:
    for table in (
        "tokens", "audit", "maintenance", "mutes", "changes", "findings", "windows", "snapshots", "nodes",
    ):  # fmt: skip
        op.drop_table(table)
