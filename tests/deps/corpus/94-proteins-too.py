# needs: esm
from esm.models.esm3 import ESM3
from esm.sdk.api import ESMProtein
