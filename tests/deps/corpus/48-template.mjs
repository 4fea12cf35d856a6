// needs: chalk ora
import chalk from "chalk";
import ora from "ora";

const spin = ora(`loading ${chalk.red(`inner ${1 + 1}`)} done`);
spin.start();
