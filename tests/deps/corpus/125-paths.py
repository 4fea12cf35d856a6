# needs: svg.path
from svg.path import parse_path
