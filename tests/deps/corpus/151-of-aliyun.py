# needs: aliyun-python-sdk-core aliyun-python-sdk-ecs microsoft-kiota-abstractions msgraph-sdk
from aliyunsdkcore.client import AcsClient
from aliyunsdkecs.request.v20140526 import DescribeInstancesRequest
from kiota_abstractions.base_request_configuration import RequestConfiguration
from msgraph import GraphServiceClient
