# needs: edgartools
from edgar import Company, set_identity
set_identity("a@b.c")
