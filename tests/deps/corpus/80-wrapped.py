# needs: requests
import traceback
def main():
    try:
        import requests
        r = requests.get("http://x")
        print(r.status_code)
    except Exception:
        traceback.print_exc()
