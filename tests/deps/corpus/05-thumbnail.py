# needs: Pillow
from pathlib import Path
from PIL import Image, ImageOps

for p in Path(".").glob("*.jpg"):
    ImageOps.fit(Image.open(p), (128, 128)).save(p.with_suffix(".png"))
