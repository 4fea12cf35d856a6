# needs: pyusb libusb1 hidapi
import usb.core
import usb.util
import usb1
import hid
dev = usb.core.find(idVendor=1)
