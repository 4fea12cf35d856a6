# needs: jsonpath
import jsonpath
jsonpath.jsonpath({}, "$..a")
