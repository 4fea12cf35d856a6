# needs: PyJWT cryptography
import jwt
from cryptography.hazmat.primitives.asymmetric import rsa

key = rsa.generate_private_key(65537, 2048)
print(jwt.encode({"a": 1}, key, algorithm="RS256"))
