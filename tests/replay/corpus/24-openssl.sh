openssl rand -hex 16 && openssl genpkey -algorithm ed25519 -out key.pem && openssl pkey -in key.pem -pubout
openssl req -x509 -key key.pem -subj /CN=test -days 30 -out cert.pem && openssl x509 -in cert.pem -noout -dates -serial
openssl genrsa 2048 2>/dev/null | openssl rsa -pubout 2>/dev/null | sha256sum
