# needs: Adafruit-Blinka adafruit-circuitpython-ads1x15
import board, busio
import adafruit_ads1x15.ads1115 as ADS
from adafruit_ads1x15.analog_in import AnalogIn
