# needs: psycopg2-binary SQLAlchemy
import psycopg2
from sqlalchemy import create_engine, text

with create_engine("postgresql://").connect() as c:
    c.execute(text("select 1"))
print(psycopg2.__version__)
