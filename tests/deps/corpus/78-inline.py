# needs: opencv-contrib-python polars
#!/usr/bin/env -S uv run --script
# /// script
# requires-python = ">=3.11"
# dependencies = [
#     "opencv-contrib-python>=4.8",
#     "polars[pandas]~=1.0",
# ]
# ///
import cv2
import polars as pl
