# needs: aspose-words spire-doc
import aspose.words as aw
from spire.doc import *
