# needs: PyMuPDF reportlab
import fitz
from reportlab.pdfgen import canvas

c = canvas.Canvas("a.pdf")
c.drawString(1, 1, "x")
c.save()
print(fitz.open("a.pdf").page_count)
