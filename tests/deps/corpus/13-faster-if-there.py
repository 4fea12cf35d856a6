# needs:
try:
    import orjson as json
except ImportError:
    import json

try:
    from tqdm import tqdm
except ModuleNotFoundError:
    def tqdm(x):
        return x

for i in tqdm(range(3)):
    print(json.dumps(i))
