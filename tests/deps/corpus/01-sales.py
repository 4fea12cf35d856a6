# needs: pandas matplotlib
import pandas as pd
import matplotlib.pyplot as plt

df = pd.read_csv("sales.csv")
df.groupby("month")["amount"].sum().plot(kind="bar")
plt.savefig("sales.png")
