# needs: POT
import ot
