# needs: fastapi uvicorn pydantic
from typing import Optional

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

app = FastAPI()


class Item(BaseModel):
    name: str
    price: Optional[float] = None


if __name__ == "__main__":
    uvicorn.run(app)
