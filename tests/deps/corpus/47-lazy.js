// needs: sharp
async function run(path) {
	const { default: sharp } = await import("sharp");
	return sharp(path).resize(10).toBuffer();
}
run(process.argv[2]);
