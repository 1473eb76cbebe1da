// Prints how often the verdict is right and wrong, by run noise and true change, beside an independent simulation of the same rules.
// node bench/error-rates.ts [replicates]
import { pathToFileURL } from "node:url";
import { type Rates, realisedRates } from "./run-model.ts";

const noises = [0.002, 0.005, 0.01, 0.02, 0.03] as const;
const effects = [0, 0.01, 0.02, 0.03, 0.05] as const;
const minimalEffect = 0.02;

/** numpy simulation of the same model and rules, 20 000 replicates: regressed/unchanged/inconclusive % (mean pairs). */
const independent: readonly (readonly string[])[] = [
	["0.00/99.0/1.0 (5.7)", "0.0/98.0/2.0 (6.6)", "70/0.5/29 (9.8)", "99.8/0/0.2 (5.6)", "100/0/0 (5.4)"],
	["0.00/98.1/1.9 (8.0)", "0.1/85/15 (12.2)", "68/0.6/31 (10.4)", "99.7/0/0.3 (5.8)", "100/0/0 (5.4)"],
	["0.01/77/23 (13.7)", "2.5/24/74 (15.1)", "58/0.5/41 (13.0)", "98.6/0/1.4 (9.0)", "99.97/0/0.03 (6.1)"],
	["0.40/2.9/96 (15.9)", "4.1/1.4/95 (15.8)", "24/0.3/75 (15.2)", "62/0/38 (13.8)", "98.5/0/1.5 (10.2)"],
	["0.52/0.1/99 (15.9)", "2.5/0.1/97 (15.9)", "9.6/0/90 (15.6)", "26/0/74 (15.1)", "76/0/24 (13.2)"],
];

function percent(share: number): string {
	return (share * 100).toFixed(2);
}

function renderCell({ shares, meanPairs }: Rates): string {
	const improved = shares.improved > 0 ? ` improved ${percent(shares.improved)}` : "";
	return `${percent(shares.regressed)}/${percent(shares.unchanged)}/${percent(shares.inconclusive)} (${meanPairs.toFixed(1)})${improved}`;
}

function printTable(replicates: number): void {
	console.log(`Verdicts at minimal effect 2 %, looks 5/8/12/16, ${replicates} replicates: regressed/unchanged/inconclusive % (mean pairs)`);
	console.log("| run CV | true change | trtgate | independent simulation |\n|---|---|---|---|");
	for (const [row, runCv] of noises.entries()) {
		for (const [column, effect] of effects.entries()) {
			const rates = realisedRates({ runCv, effect }, { minimalEffect, replicates, seed: 1000 * row + column + 1 });
			console.log(`| ${runCv * 100} % | +${effect * 100} % | ${renderCell(rates)} | ${independent[row]?.[column]} |`);
		}
	}
	console.log("\nA family of 10 workloads, no true change: false `regressed` or `improved` of any one workload, %");
	for (const runCv of noises) {
		const { shares } = realisedRates({ runCv, effect: 0 }, { minimalEffect, family: 10, replicates, seed: 77 });
		const one = shares.regressed + shares.improved;
		console.log(`run CV ${runCv * 100} %: one ${percent(one)}, any of ten ${percent(1 - (1 - one) ** 10)}`);
	}
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? "").href) {
	const replicates = Number(process.argv[2] ?? 20_000);
	if (!Number.isInteger(replicates) || replicates < 1) throw new Error("Usage: node bench/error-rates.ts [replicates]");
	printTable(replicates);
}
