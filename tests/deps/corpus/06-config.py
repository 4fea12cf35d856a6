# needs: PyYAML python-dotenv
import os
import yaml
from dotenv import load_dotenv

load_dotenv()
print(yaml.safe_load(open("config.yaml")), os.environ.get("KEY"))
