# needs: openai tiktoken
import os

import tiktoken
from openai import OpenAI

client = OpenAI(api_key=os.environ["KEY"])
print(len(tiktoken.get_encoding("cl100k_base").encode("x")))
