# needs: pymongo
from bson import ObjectId
from pymongo import MongoClient

print(MongoClient().db.c.find_one({"_id": ObjectId()}))
