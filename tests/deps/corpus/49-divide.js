// needs: mathjs
const m = require("mathjs");
let a = 4, g = 2;
const x = a / g / 2, y = (a) / 2; // require("no")
console.log(m.sqrt(x / y));
