# needs: hurry-filesize
from hurry.filesize import size, si
