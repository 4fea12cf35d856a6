# needs: sentence-transformers faiss-cpu numpy
import faiss
import numpy as np
from sentence_transformers import SentenceTransformer

v = SentenceTransformer("m").encode(["a"])
faiss.IndexFlatL2(v.shape[1]).add(np.asarray(v))
