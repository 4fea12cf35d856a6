# needs: zstandard pandas plotly beautifulsoup4 SQLAlchemy psycopg
"""read_excel("a.xlsx") and df.to_excel() are only spoken of."""
import pandas as pd
import psycopg
from bs4 import BeautifulSoup
try:
    from compression import zstd
except ImportError:
    import zstandard as zstd
from sqlalchemy import create_engine
from tkinter import ttk

pd.options.plotting.backend = "plotly"
import plotly


class Report:
    def to_excel(self):
        self.style = ttk.Style()
        self.style.map("x")
        pd.Series([1]).plot()


Report().to_excel()
pd.read_csv("a.csv")
BeautifulSoup("<p>", "html.parser")
create_engine("sqlite:///a.db")
conn = psycopg.connect("postgresql://localhost/db")
