# needs: scikit-learn numpy
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.ensemble import RandomForestClassifier

X, y = np.random.rand(100, 4), np.random.randint(0, 2, 100)
print(RandomForestClassifier().fit(*train_test_split(X, y)[::2]))
