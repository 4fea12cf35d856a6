# needs: concrete-python
from concrete import fhe
