# needs: scrypt pystac pygls parsl grequests partd bpython
import scrypt, pystac, pygls, parsl, grequests, partd, bpython
