// needs:
let chalk;
try { chalk = require('chalk'); } catch (_) { chalk = { red: (s) => s }; }
let color = (s) => s;
try { const kleur = require('kleur'); color = kleur.red; } catch {}
