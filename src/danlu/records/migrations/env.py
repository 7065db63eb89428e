"""Runs migrations on the connection that ``danlu.records.upgrade`` passes.

The caller begins and ends the transaction, so that schema and revision change together.
"""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
