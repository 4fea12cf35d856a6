# needs: jaraco.functools backports-tarfile
from jaraco.functools import retry
from backports import tarfile
