# needs: pycryptodome
from Crypto.Cipher import AES
from Crypto.Random import get_random_bytes

print(AES.new(get_random_bytes(16), AES.MODE_GCM).encrypt(b"x"))
