"""What is remembered, in SQLite (embedded) or PostgreSQL.

`Store` is the face, with a shelf per kind of thing on a `Database`; tables.py says what is kept, migrations/
how it came about, engine.py how the file or server is opened, outside.py what other programs do to the file.
Imports the core's nouns; knows no HTTP. To change a table: edit tables.py, add a migration, move `HEAD`.
"""

from api.store.engine import (
    HEAD,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreUnreachable,
)
from api.store.store import Store

__all__ = [
    "HEAD",
    "Store",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreUnreachable",
]
