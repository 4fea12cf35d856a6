import logging
import logging.handlers
import time
logging.basicConfig(filename="app.log", level=logging.DEBUG,
                    format="%(asctime)s.%(msecs)03d %(process)d %(threadName)s %(relativeCreated)d %(message)s")
for i in range(5):
    logging.info("step %d at %r", i, time.time())
try:
    1 / 0
except ZeroDivisionError:
    logging.exception("failed")
print(open("app.log").read())
