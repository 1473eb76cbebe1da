// What an editor shows of the config that `init` writes, by the YAML language server itself.
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { hasLanguageServer, openEditor } from "../support/language-server.ts";
import { expectExit, runCli, temporaryFolder, writeProject } from "../support/project.ts";

const installed = "node_modules/trtgate/golden-schema/config.schema.json";

async function starter(): Promise<{ cwd: string; text: string }> {
	const cwd = writeProject(temporaryFolder(), { "net.onnx": "fixture:model.onnx" });
	cpSync("golden-schema/config.schema.json", join(cwd, installed));
	expectExit(await runCli(["init", "net.onnx", "--quiet"], { cwd }), 0);
	return { cwd, text: readFileSync(join(cwd, "trtgate.yml"), "utf8") };
}

it("init names the schema of the installed package, and without one that of its release", async () => {
	const { text } = await starter();
	expect(text.split("\n")[0]).toBe(`# yaml-language-server: $schema=./${installed}`);
	const cwd = writeProject(temporaryFolder(), { "net.onnx": "fixture:model.onnx" });
	expectExit(await runCli(["init", "net.onnx", "--quiet"], { cwd }), 0);
	const { version } = JSON.parse(readFileSync("package.json", "utf8"));
	expect(readFileSync(join(cwd, "trtgate.yml"), "utf8")).toContain(
		`$schema=https://raw.githubusercontent.com/trtgate/trtgate/v${version}/golden-schema/config.schema.json\n`,
	);
});

it.skipIf(!hasLanguageServer)(
	"an editor accepts the config, explains and completes its keys, and marks a misspelt one",
	async () => {
		const { cwd, text } = await starter();
		const editor = await openEditor(cwd, "trtgate.yml");
		onTestFinished(editor.close);
		expect(await editor.open(text)).toEqual([]);
		const lines = text.split("\n");
		const line = lines.findIndex((each) => each.includes("precision: fp32"));
		const character = (lines[line] ?? "").indexOf("precision") + 2;
		const hover = await editor.ask<{ contents: unknown }>("hover", { line, character });
		expect(JSON.stringify(hover?.contents)).toContain("What TensorRT may compute in");
		const wrong = text.replace("    engines:", "    engins:");
		const marked = await editor.open(wrong);
		expect(marked.map(({ message, range }) => [message, range.start.line])).toContainEqual([
			expect.stringMatching(/engins is not allowed/),
			wrong.split("\n").findIndex((each) => each.includes("engins:")),
		]);
		const gates = `${text}gates:\n  lat\n`;
		await editor.open(gates);
		const { items } = await editor.ask<{ items: { label: string; documentation?: unknown }[] }>(
			"completion",
			{
				line: gates.split("\n").length - 2,
				character: 5,
			},
		);
		const latency = items.find(({ label }) => label === "latency");
		expect(JSON.stringify(latency?.documentation)).toContain("warn at 2 %, fail at 10 %");
	},
);
