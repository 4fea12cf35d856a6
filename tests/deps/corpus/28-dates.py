# needs: python-dateutil pytz
from datetime import datetime
from dateutil import parser, relativedelta
import pytz

print(parser.parse("1 May") + relativedelta.relativedelta(months=1), datetime.now(pytz.utc))
