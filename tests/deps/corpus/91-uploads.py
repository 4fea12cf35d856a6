# needs: Jinja2 email-validator fastapi httpx pydantic pytest python-multipart
from fastapi import FastAPI, UploadFile, File
from fastapi.testclient import TestClient
from fastapi.templating import Jinja2Templates
from pydantic import BaseModel, EmailStr
import pytest
