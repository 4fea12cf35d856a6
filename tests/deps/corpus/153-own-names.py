# needs: 
import dal, pubsub, solo, validate
from dal import Repository
from pubsub import publish
