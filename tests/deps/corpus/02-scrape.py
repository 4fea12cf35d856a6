# needs: requests beautifulsoup4
import csv
import requests
from bs4 import BeautifulSoup

soup = BeautifulSoup(requests.get("http://localhost/").text, "html.parser")
with open("out.csv", "w") as f:
    csv.writer(f).writerows([a["href"]] for a in soup.find_all("a"))
