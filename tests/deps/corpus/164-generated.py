# needs: grpcio protobuf
import grpc
import helloworld_pb2
import helloworld_pb2_grpc
from generated import service
from google.protobuf import timestamp_pb2
