# needs: tensorboard torch
from torch.utils.tensorboard import SummaryWriter
