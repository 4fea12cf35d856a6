# needs: fair-esm torch
import torch, esm
model, alphabet = esm.pretrained.esm2_t33_650M_UR50D()
