"""pairsift migrate"""

from cli.output import JsonFlag, give
from cli.stack import complete_settings
from service.config import Settings
from service.db.migrate import upgrade
from service.db.session import make_engine


def migrate(as_json: JsonFlag = False) -> None:
    """Bring the database to the newest schema. Safe to run twice, and at the same time."""
    with complete_settings(Settings()) as settings:
        engine = make_engine(settings.required_database_url)
        upgrade(engine)
        engine.dispose()
    give({"migrated": True}, as_json, "The database has the newest schema.")
