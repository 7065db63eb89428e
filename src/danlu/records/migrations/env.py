"""Runs migrations on the connection that ``danlu.records.upgrade`` hands over.

The transaction is begun and ended there, so that schema and revision change together.
"""

from alembic import context

context.configure(connection=context.config.attributes["connection"], transactional_ddl=True)
context.run_migrations()
