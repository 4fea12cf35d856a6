// needs: axios
async function main() {
  try {
    const axios = require('axios');
    const r = await axios.get('http://x');
    console.log(r.data);
  } catch (error) {
    console.error('Error:', error.message);
  }
}
main();
