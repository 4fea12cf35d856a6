# needs: invisible-watermark autotrain-advanced titanoboa nvidia-riva-client
from imwatermark import WatermarkEncoder
import autotrain, boa, riva.client
