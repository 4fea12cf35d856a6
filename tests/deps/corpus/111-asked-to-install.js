// needs: express
let express;
try {
  express = require('express');
} catch (err) {
  console.error('Please run: npm install express');
  process.exit(1);
}
