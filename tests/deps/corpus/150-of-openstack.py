# needs: python-cinderclient python-heatclient python-novaclient keystoneauth1
from keystoneauth1 import loading
from cinderclient import client
from heatclient.client import Client
import novaclient.client
