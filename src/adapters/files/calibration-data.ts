// Finds the inputs that an INT8 engine is calibrated on: those of a golden, or of a folder with a file per case.

import type { Dirent } from "node:fs";
import { readdir } from "node:fs/promises";
import { dirname, extname, join } from "node:path";
import { inputKinds } from "../../core/input-kind.ts";
import type { CalibrationCase } from "../../core/plan/plan.ts";
import { decodeOwn } from "../../formats/tensor/decode.ts";
import { tensorInvalid } from "../../formats/tensor/refusal.ts";
import { parseManifest } from "../../golden/core/manifest/parse-manifest.ts";
import type { CalibrationData, CalibrationWanted } from "../../ports/world.ts";
import { digestOf, fileSource, inputError, readInputText, withInput } from "../process/input-file.ts";
import { hashFile } from "./store.ts";
import { inflate } from "./tensor-reader.ts";

const endings = ["npz", "safetensors", "npy"] as const;
const fix = "Write one .npz or .safetensors file for each case (.npy if the model has one input).";
const maxCases = 10_000;

export async function findCalibrationData(wanted: CalibrationWanted): Promise<CalibrationData> {
	const { path, most = maxCases } = wanted;
	const isGolden = path.endsWith(".json");
	const cases = isGolden ? await casesOfGolden(path, most) : await casesOfFolder(wanted, most);
	const contents = cases.map(({ inputs }) =>
		Object.entries(inputs).map(([name, { path: _, ...file }]) => [name, file]),
	);
	const sha256 = digestOf(JSON.stringify(contents));
	return { path: isGolden ? dirname(path) : path, cases, sha256 };
}

async function casesOfGolden(path: string, most: number) {
	const { cases, sequence } = parseManifest(await readInputText(path, inputKinds.golden), path);
	if (sequence !== undefined)
		throw tensorInvalid({ path }, "cases of one inference", "sequences of a decoder", fix);
	return cases.slice(0, most).map(({ id, inputs }) => ({ id, inputs }));
}

async function casesOfFolder({ path, inputs }: CalibrationWanted, most: number) {
	const entries = await readdir(path, { withFileTypes: true }).catch((error: unknown) => {
		throw inputError(error, inputKinds.tensor, path);
	});
	const found = entries
		.filter(({ name }) => endingOf(name) !== undefined && !name.startsWith("."))
		.sort((left, right) => left.name.localeCompare(right.name, "en", { numeric: true }));
	if (found.length === 0) throw tensorInvalid({ path }, "a folder of tensor files", "none", fix);
	const cases: CalibrationCase[] = [];
	for (const entry of found.slice(0, most)) cases.push(await readCase(path, entry, inputs));
	return cases;
}

const endingOf = (name: string) => endings.find((ending) => extname(name) === `.${ending}`);

async function readCase(folder: string, entry: Dirent, inputs: CalibrationWanted["inputs"]) {
	const path = join(folder, entry.name);
	const ending = endingOf(entry.name) ?? "npy";
	if (!entry.isFile()) throw tensorInvalid({ path }, "a regular file", "a link or a folder", fix);
	if (ending === "npy" && inputs.length !== 1)
		throw tensorInvalid({ path }, `the model's ${inputs.length} inputs`, "one tensor", fix);
	const sha256 = await hashFile(path, inputKinds.tensor);
	const files = await withInput(path, inputKinds.tensor, async ({ file, facts: { size } }) =>
		inputs.map(({ name: member, dtype }) => {
			const own = decodeOwn(fileSource(file, size), { path, member, dtype }, ending, inflate);
			return [member, { path: entry.name, sha256, dtype: own.dtype, shape: [...own.shape], member }];
		}),
	);
	return { id: entry.name, inputs: Object.fromEntries(files) };
}
