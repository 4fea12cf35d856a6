// needs: typescript
const where = require.resolve("typescript");
const mod = "dynamic";
console.log(where, () => require(mod));
