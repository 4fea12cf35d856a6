// needs:
const vscode = require('vscode');
