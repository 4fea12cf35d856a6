# needs: requests
from __future__ import annotations

from typing import TYPE_CHECKING

import requests

if TYPE_CHECKING:
    from pandas import DataFrame
    import mypy_boto3_s3


def f(d: DataFrame) -> requests.Response:
    return requests.get("http://localhost")
