# needs: dm-tree
import tree
print(tree.map_structure(lambda x: x, [1]))
