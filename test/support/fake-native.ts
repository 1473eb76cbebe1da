import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const source = `
const { readFileSync, writeFileSync } = require("node:fs");
exports.env = { versions: { common: "9.9.9", node: "9.9.9" }, wasm: {} };
exports.Tensor = class { constructor(type, data, dims) { Object.assign(this, { type, data, dims }); } };
let running = 0;
exports.InferenceSession = {
	async create(path, options) {
		if (options.executionProviders[0] !== "cpu") throw new Error("provider " + options.executionProviders);
		const text = readFileSync(path, "utf8");
		if (text.includes("refuse")) throw new Error("Could not find an implementation for X(1) node with name 'n'");
		if (options.optimizedModelFilePath !== undefined) {
			if (text.includes("too large")) throw new Error("Protobuf serialization failed");
			writeFileSync(options.optimizedModelFilePath, options.graphOptimizationLevel + " of " + text);
		}
		return {
			outputNames: ["y"],
			async run(feeds) {
				running += 1;
				process.stdout.write("at once " + running + " pool " + process.env.UV_THREADPOOL_SIZE + "\\n");
				await new Promise((resolve) => setTimeout(resolve, 5));
				running -= 1;
				return { y: feeds.x };
			},
		};
	},
};
`;

export function installFakeNative(folder: string, options: { addon: boolean } = { addon: true }): string {
	const home = join(folder, "node_modules/onnxruntime-node");
	const addonFolder = join(home, "bin/napi-v6", process.platform, process.arch);
	mkdirSync(addonFolder, { recursive: true });
	writeFileSync(
		join(home, "package.json"),
		'{"name": "onnxruntime-node", "version": "9.9.9", "main": "index.js"}',
	);
	writeFileSync(join(home, "index.js"), source);
	if (options.addon) writeFileSync(join(addonFolder, "onnxruntime_binding.node"), "");
	return folder;
}
