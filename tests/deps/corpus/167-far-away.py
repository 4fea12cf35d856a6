# needs: pandas s3fs gcsfs pyarrow transformers torch passlib bcrypt
import pandas as pd
from passlib.context import CryptContext
from transformers import pipeline
df = pd.read_parquet("s3://bucket/a.parquet")
pd.read_csv("gs://bucket/a.csv")
pwd = CryptContext(schemes=["bcrypt"], deprecated="auto")
print(pipeline("sentiment-analysis")("fine"))
