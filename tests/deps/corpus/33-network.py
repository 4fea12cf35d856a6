# needs: networkx python-louvain
import community as community_louvain
import networkx as nx

print(community_louvain.best_partition(nx.karate_club_graph()))
