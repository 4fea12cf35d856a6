# needs: fusepy
from fuse import FUSE, FuseOSError, Operations
