// needs: yargs-parser
let sharp = null;
try {
  sharp = require('sharp');
} catch (err) {
  if (err.code !== 'MODULE_NOT_FOUND') throw err;
}
module.exports = require('yargs-parser');
