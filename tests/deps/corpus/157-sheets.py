# needs: pandas openpyxl XlsxWriter xlrd tabulate pyarrow
import pandas as pd
old = pd.read_excel("old.xls")
df = pd.read_excel("data.xlsx", sheet_name=None)
with pd.ExcelWriter("out.xlsx", engine="xlsxwriter") as w:
    df.to_excel(w, index=False)
df.to_parquet("data.parquet")
print(df.to_markdown())
