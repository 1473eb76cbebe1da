import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { succeeded } from "../../src/adapters/git/run-git.ts";
import {
	type ArmsRequest,
	type ConfigReader,
	type OpenedArms,
	openArms,
	type SideConfig,
} from "../../src/app/arms/arms.ts";
import type { Config } from "../../src/core/config/config.ts";
import { loadConfig } from "../../src/core/config/parse.ts";
import { gitProcesses } from "./git-history.ts";
import { makeRepository, pullEvent, workspaceOf } from "./pull-repository.ts";

export function configOf(rest = "", path = "trtgate.yml"): Config {
	const text = `version: 1\nmodels:\n  net:\n    onnx: model.onnx\n    golden: golden/golden.json\n    workloads: [{ name: one }]\n${rest}`;
	const loaded = loadConfig(text, { path });
	if (loaded.state === "invalid") throw loaded.errors[0];
	return loaded.config;
}

function sideOf(text: string): SideConfig {
	const loaded = loadConfig(text, { path: "trtgate.yml" });
	if (loaded.state === "ok") return { state: "read", config: loaded.config };
	return { state: "broken", why: loaded.errors[0]?.message ?? "" };
}

const configs: ConfigReader = {
	inFolder: async (folder) => {
		const path = join(folder, "trtgate.yml");
		return existsSync(path) ? sideOf(readFileSync(path, "utf8")) : { state: "absent" };
	},
	atCommit: async (commit, git) => {
		const read = await git(["cat-file", "blob", `${commit}:./trtgate.yml`], { captureBytes: 100_000 });
		return succeeded(read) ? sideOf(read.stdout) : { state: "absent" };
	},
};

export async function open(
	workspace: string,
	request: Partial<ArmsRequest> = {},
	env: Readonly<Record<string, string>> = {},
): Promise<OpenedArms> {
	const whole = {
		cwd: workspace,
		home: workspace,
		outFolder: join(workspace, "out"),
		config: configOf(),
		configs,
		...request,
	};
	const opened = await openArms(whole, gitProcesses(env));
	onTestFinished(() => opened.close());
	return opened;
}

export const read = (opened: OpenedArms, arm: "base" | "head", name: string): string =>
	readFileSync(join(opened.folders.find((folder) => folder.arm === arm)?.path ?? "none", name), "utf8");

export const texts = { base: { "model.onnx": "base model" }, head: { "model.onnx": "head model" } };

export const modelsOf = (opened: OpenedArms): string[] => [
	read(opened, "base", "model.onnx"),
	read(opened, "head", "model.onnx"),
];

export async function openPull(
	files: Parameters<typeof makeRepository>[0],
	env: Readonly<Record<string, string>> = {},
) {
	const repo = makeRepository(files);
	const workspace = workspaceOf(repo);
	return { repo, workspace, opened: await open(workspace, { event: pullEvent(repo) }, env) };
}
