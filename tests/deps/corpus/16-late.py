# needs: pandas XlsxWriter
def export(rows, path):
    import pandas as pd
    with pd.ExcelWriter(path) as w:
        import xlsxwriter  # the engine
        pd.DataFrame(rows).to_excel(w)


export([[1, 2]], "x.xlsx")
