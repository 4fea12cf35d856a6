# needs: beautifulsoup4 html5lib lxml pandas
from bs4 import BeautifulSoup
import pandas as pd
soup = BeautifulSoup("<p>", features="html5lib")
tables = pd.read_html("page.html")
