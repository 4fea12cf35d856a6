# needs: binance-connector
from binance.spot import Spot
