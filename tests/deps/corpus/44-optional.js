// needs:
let fast;
try {
	fast = require("bufferutil");
} catch {
	fast = null;
}
console.log(fast);
