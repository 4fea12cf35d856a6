# needs: dnspython PySocks
import dns.resolver
import socks

print(dns.resolver.resolve("localhost"), socks.socksocket)
