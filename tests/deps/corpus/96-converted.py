# needs: marker-pdf
from marker.converters.pdf import PdfConverter
from marker.models import create_model_dict
