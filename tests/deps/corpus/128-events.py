# needs: zope-event zope.component zope-schema
from zope.event import notify
from zope.component import getUtility
from zope.schema import TextLine
