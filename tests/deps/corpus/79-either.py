# needs: pypdf
try:
    from pypdf import PdfReader
except ImportError:
    from PyPDF2 import PdfReader
