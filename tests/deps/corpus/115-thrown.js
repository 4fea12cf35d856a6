// needs: pg
try { require('pg'); } catch (e) { throw new Error('pg is needed'); }
