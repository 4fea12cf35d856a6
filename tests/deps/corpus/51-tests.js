// needs: jest
const { expect } = require("jest");
const assert = require("assert/strict");

expect(1).toBe(1);
assert.ok(true);
