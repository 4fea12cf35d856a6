# needs:
from tree import Node
