# needs: SQLAlchemy psycopg2-binary PyMySQL celery redis requests PySocks
"""postgresql+asyncpg:// is not what this uses."""
import os
import requests
from celery import Celery
from sqlalchemy import create_engine
URL = os.getenv("DATABASE_URL", "postgresql://u:p@localhost/db")
other = create_engine(f"mysql+pymysql://{os.environ['U']}@localhost/db")
app = Celery("tasks", broker="redis://localhost:6379/0")
requests.get("https://example.org", proxies={"https": "socks5h://localhost:9050"})
