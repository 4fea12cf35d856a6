# A server and its client on the loopback.
import http.server
import threading
import urllib.request

class Hello(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = self.date_time_string().encode()
        self.send_response(200)
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, form, *args):
        print(self.log_date_time_string(), form % args)

server = http.server.HTTPServer(("127.0.0.1", 8000), Hello)
threading.Thread(target=server.serve_forever, daemon=True).start()
for _ in range(3):
    print(urllib.request.urlopen("http://127.0.0.1:8000/").read())
server.shutdown()
