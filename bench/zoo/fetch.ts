// Fetches the packages of the zoo by their registries' own clients and takes the models out of them, checked by digest.
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readdirSync, readFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";

export interface Package {
	registry: "pip" | "npm" | "maven";
	name: string;
	version: string;
}

export interface ZooModel {
	name: string;
	task: string;
	package: Package;
	file: string;
	sha256: string;
	/** A recipe of inputs.py. */
	recipe: string;
	/** Where outputs hold their classes: OUTPUT:AXIS:FIRST. */
	classes?: string[];
	/** Of what bench/models.md shows the config as an example, and what the recipe makes. */
	example?: { heading: string; inputs: string };
}

export interface Fetching {
	python: string;
	/** Unpacked packages, kept from one run to the next. */
	cache: string;
	/** Archives that were fetched before, if any. */
	archives: string | null;
}

export function runTool(command: string, args: readonly string[], cwd = "."): string {
	const { status, stdout, stderr, error } = spawnSync(command, args, {
		cwd,
		encoding: "utf8",
		maxBuffer: 2 ** 28,
	});
	if (status !== 0)
		throw new Error(
			`${command} ${args.join(" ")}: ${error?.message ?? `exit ${status}`}\n${stderr}${stdout}`.slice(
				0,
				2000,
			),
		);
	return stdout;
}

/** File names differ from package names in these characters only. */
function normalised(name: string): string {
	return name.toLowerCase().replaceAll(/[-_.]+/g, "-");
}

function archiveOf({ name, version }: Package, folder: string): string | null {
	if (!existsSync(folder)) return null;
	const start = normalised(`${name.split(":").at(-1)}-${version}`);
	const found = readdirSync(folder).find(
		(file) => /\.(?:whl|jar|tgz|tar\.gz|zip)$/.test(file) && normalised(file).startsWith(start),
	);
	return found === undefined ? null : join(folder, found);
}

function download({ registry, name, version }: Package, folder: string, python: string): void {
	mkdirSync(folder, { recursive: true });
	if (registry === "pip")
		runTool(python, [
			"-m",
			"pip",
			"download",
			"--quiet",
			"--no-deps",
			"--dest",
			folder,
			`${name}==${version}`,
		]);
	if (registry === "npm")
		runTool("npm", ["pack", "--silent", "--pack-destination", resolve(folder), `${name}@${version}`]);
	if (registry === "maven") {
		const artifact = [
			`-Dartifact=${name}:${version}`,
			"-Dtransitive=false",
			`-DoutputDirectory=${resolve(folder)}`,
		];
		runTool("mvn", ["--quiet", "--batch-mode", "dependency:copy", ...artifact]);
	}
}

function unpack(archive: string, into: string, python: string): void {
	mkdirSync(into, { recursive: true });
	runTool(python, [archive.endsWith("gz") ? "-mtarfile" : "-mzipfile", "-e", archive, into]);
}

/** The folder of the unpacked package and the path of the model in it. */
export function fetchModel(
	model: ZooModel,
	{ python, cache, archives }: Fetching,
): { folder: string; path: string } {
	const folder = join(cache, `${basename(model.package.name.replaceAll(":", "/"))}-${model.package.version}`);
	const path = join(folder, model.file);
	if (!existsSync(path)) {
		const downloads = join(cache, "downloads");
		let archive =
			(archives === null ? null : archiveOf(model.package, archives)) ?? archiveOf(model.package, downloads);
		if (archive === null) {
			download(model.package, downloads, python);
			archive = archiveOf(model.package, downloads);
		}
		if (archive === null)
			throw new Error(`${model.package.name} ${model.package.version} came as no known archive`);
		unpack(archive, folder, python);
	}
	const digest = createHash("sha256").update(readFileSync(path)).digest("hex");
	if (digest !== model.sha256)
		throw new Error(`${model.name}: ${model.file} has the digest ${digest}, expected ${model.sha256}`);
	return { folder, path };
}
