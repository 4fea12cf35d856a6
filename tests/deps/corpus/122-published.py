# needs: PyPubSub
from pubsub import pub
pub.subscribe(print, "x")
