# needs: PyQt6
import sys
try:
    from PyQt6.QtWidgets import QApplication, QLabel
    from PyQt6.QtCore import Qt
except ImportError:
    from PyQt5.QtWidgets import QApplication, QLabel
    from PyQt5.QtCore import Qt
