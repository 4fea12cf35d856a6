# needs: yfinance pandas TA-Lib
import talib
import pandas as pd
import yfinance as yf

df = yf.download("X")
print(talib.SMA(df["Close"]), pd.__version__)
