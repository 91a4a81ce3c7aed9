"""What is remembered: one row per snapshot as a compressed blob, beside nodes, findings and decisions.

Times are Unix seconds in the server's clock. Rows of samples are deliberately absent: long history and
ad-hoc queries belong to Prometheus, which we feed.
"""

from __future__ import annotations

from sqlalchemy import (
    BigInteger,
    Column,
    Double,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
)

metadata = MetaData()

# SQLite makes a column the row's own number only when its type reads INTEGER.
Number = BigInteger().with_variant(Integer(), "sqlite")

nodes = Table(
    "nodes",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    Column("name", String(255), nullable=False, unique=True),
    Column("first_seen", Double, nullable=False),
    Column("last_seen", Double, nullable=False),  # brought up to date now and then, and at stop
    Column("version", BigInteger, nullable=False, default=0),  # grows with every change of its findings
    Column("verdict", LargeBinary),  # JSON: severity, rule, headlines by language, gpus
    Column("changed_at", Double),
    Column("load", LargeBinary),  # JSON: when, and what its GPUs held and did; where several servers ask
)

snapshots = Table(
    "snapshots",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    Column("node_id", Number, ForeignKey("nodes.id"), nullable=False),
    Column("taken_at", Double, nullable=False),
    Column("received_at", Double, nullable=False),
    Column("start_key", BigInteger, nullable=False),  # 64 bits of a digest of (node, start id)
    Column("sequence", BigInteger, nullable=False),
    Column("body", LargeBinary, nullable=False),  # zstd of the snapshot's JSON
    Index("snapshots_node_taken", "node_id", "taken_at"),
    Index("snapshots_once", "start_key", "sequence", unique=True),
)

windows = Table(
    "windows",
    metadata,
    Column("node_id", Number, ForeignKey("nodes.id"), primary_key=True, autoincrement=False),
    Column("packed_at", Double, nullable=False),  # the window's own time
    Column("packed", LargeBinary, nullable=False),
)

findings = Table(
    "findings",
    metadata,
    Column("id", String(32), primary_key=True),
    Column("node_id", Number, nullable=False),  # 0 for what is about the fleet
    Column("rule", String(64), nullable=False),
    Column("severity", String(16), nullable=False),
    Column("state", String(16), nullable=False),
    Column("opened_at", Double, nullable=False),
    Column("ended_at", Double),
    Column("episode", LargeBinary, nullable=False),  # JSON of gpudiag.changes.OpenFinding
    Index("findings_node_ended", "node_id", "ended_at"),
    Index("findings_ended", "ended_at"),
)

changes = Table(
    "changes",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False),
    Column("node_id", Number, nullable=False),
    Column("node", String(255), nullable=False),
    Column("finding_id", String(32), nullable=False),
    Column("what", String(16), nullable=False),  # opened, changed, acknowledged, resolved, gone
    Column("quiet", String(16)),  # muted, maintenance, together
    Column("source", String(16), nullable=False, default="agent"),
    Column("finding", LargeBinary, nullable=False),  # JSON of gpudiag.model.Finding
    Index("changes_finding", "finding_id"),
    Index("changes_at", "at"),
    sqlite_autoincrement=True,  # a cursor is never given twice, even after old rows went
)

mutes = Table(
    "mutes",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    Column("node", String(255), nullable=False),  # a name or a shell pattern
    Column("rule", String(64)),
    Column("created_at", Double, nullable=False),
    Column("until", Double, nullable=False),
    Column("by", String(255), nullable=False),
    Column("why", Text, nullable=False),
    Index("mutes_until", "until"),
)

maintenance = Table(
    "maintenance",
    metadata,
    Column("node_id", Number, primary_key=True, autoincrement=False),
    Column("since", Double, nullable=False),
    Column("until", Double, nullable=False),
    Column("by", String(255), nullable=False),
    Column("why", Text, nullable=False),
)

audit = Table(
    "audit",
    metadata,
    Column("id", Number, primary_key=True, autoincrement=True),
    Column("at", Double, nullable=False),
    Column("who", String(255), nullable=False),
    Column("what", String(32), nullable=False),  # ack, mute, unmute, maintenance, forget, token …
    Column("subject", String(512), nullable=False),
    Column("why", Text, nullable=False),
    Index("audit_subject", "subject"),
    sqlite_autoincrement=True,
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", String(16), primary_key=True),
    Column("hash", LargeBinary, nullable=False, unique=True),  # SHA-256; the token itself is random
    Column("role", String(16), nullable=False),
    Column("node", String(255)),
    Column("note", Text, nullable=False, default=""),
    Column("created_at", Double, nullable=False),
    Column("revoked_at", Double),
)
