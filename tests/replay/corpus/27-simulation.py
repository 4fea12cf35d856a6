# Genetic search with early stopping by wall clock.
import random
import time
limit = time.time() + 0.02
best, rounds = None, 0
while time.time() < limit and rounds < 400:
    rounds += 1
    score = sum(random.uniform(-1, 1) for _ in range(50))
    if best is None or score > best:
        best = score
        print(rounds, best)
print("stopped after", rounds)
