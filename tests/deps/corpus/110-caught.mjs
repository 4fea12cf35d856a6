// needs: playwright
(async () => {
  try {
    const { chromium } = await import('playwright');
    const b = await chromium.launch();
    await b.close();
  } catch (e) { console.error(e); process.exit(1); }
})();
