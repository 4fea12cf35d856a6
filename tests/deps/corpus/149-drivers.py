# needs: py3dns PyStemmer PyExifTool pycups python-debian pypng PyGreSQL GridDataFormats
import DNS, Stemmer, exiftool, cups, png, pg
from debian import deb822
from gridData import Grid
