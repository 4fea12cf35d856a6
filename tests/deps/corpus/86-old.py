# needs: six future
import six
from six.moves import urllib
from six.moves.urllib.parse import quote
from future.utils import iteritems
from builtins import str
from past.builtins import basestring
