# needs: pyserial
import time
import serial
from serial.tools import list_ports

for p in list_ports.comports():
    print(serial.Serial(p.device).read(), time.time())
