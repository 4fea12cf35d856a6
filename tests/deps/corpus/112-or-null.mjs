// needs:
const sharp = await import('sharp').catch(() => null);
