# needs: Flask Flask-Cors Flask-SQLAlchemy
from flask import Flask, jsonify
from flask_cors import CORS
from flask_sqlalchemy import SQLAlchemy

app = Flask(__name__)
CORS(app)
db = SQLAlchemy(app)


@app.route("/")
def index():
    return jsonify(ok=True)
