// needs:
const code = `
import x from "react";
require("vue");
`;
// require("angular")
/* import "svelte" */
const r = /require\("preact"\)/;
console.log(code, r, "require('solid-js')");
