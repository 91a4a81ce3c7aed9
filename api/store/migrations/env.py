"""Alembic's entry: migrations run on the connection that the store already has."""

from alembic import context

from api.store.tables import metadata

connection = context.config.attributes["connection"]
context.configure(connection=connection, target_metadata=metadata, render_as_batch=True)
context.run_migrations()
