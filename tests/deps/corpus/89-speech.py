# needs: nemo-toolkit python-flint pyvips PySDL2 torch
"""Names that other projects of the index have, and one that is near to another."""
import lsb_release
import pyvips
import sdl2.ext
import torch
from flint import fmpz
from sage.all import ZZ
import nemo.collections.asr as nemo_asr

model = nemo_asr.models.ASRModel.from_pretrained("stt_en")
