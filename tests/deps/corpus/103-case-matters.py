# needs: modAL-python
import modAL
