# needs: pandas
import pandas as pd
def f():
    "import docstring"
    # import comment
    return pd
match 1:
    case 1:
        import json
    case _:
        import csv
