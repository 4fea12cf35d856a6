# needs: python-docx openpyxl
import docx
from openpyxl import Workbook

wb = Workbook()
for i, p in enumerate(docx.Document("in.docx").paragraphs, 1):
    wb.active.cell(i, 1, p.text)
wb.save("out.xlsx")
