// How long it takes to compare two engines, against the limit of 300 ms of CPU time for 5,000 layers, and up to 100,000 layers; and to draw
// a graph of 2,000 groups, against one second. With Chromium (its path in CHROMIUM), also when it has painted a page with 2,000 ONNX nodes in both panes.
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OnnxGraph } from "../src/core/onnx/model.ts";
import { renderDiffs } from "../src/core/report/engine-page.ts";
import { diffEngines } from "../src/engine/core/diff.ts";
import { type EngineModel, engineModel } from "../src/engine/core/model.ts";
import { parseLayerInfo } from "../src/formats/trtexec/layers.ts";

type Change = (at: number) => object;

/** Convolution and activation in turns, with a shortcut around each pair. */
function modelOf(count: number): OnnxGraph {
	const nodes = Array.from({ length: count }, (_, at) => [
		{ name: `conv_${at}`, domain: "", op: "Conv", inputs: [`t${at}`], outputs: [`c${at}`], attributes: [] },
		{
			name: `relu_${at}`,
			domain: "",
			op: "Add",
			inputs: [`c${at}`, `t${at}`],
			outputs: [`t${at + 1}`],
			attributes: [],
		},
	]).flat();
	return { name: "", inputs: [], outputs: [], nodes, initializers: [], valueInfo: [], subgraphs: [] };
}

function chain(count: number, over: Change, graph: OnnxGraph | null = null): EngineModel {
	const tensor = (name: string) => ({ Name: name, Dimensions: [1, 8, 16, 16], "Format/Datatype": "Half" });
	const Layers = Array.from({ length: count }, (_, at) => ({
		Name: `conv_${at}`,
		LayerType: "CaskConvolution",
		Inputs: [tensor(`t${at}`)],
		Outputs: [tensor(`t${at + 1}`)],
		ParameterType: "Convolution",
		Weights: { Type: "Half", Count: 64 + (at % 7) },
		Metadata: `[ONNX Layer: conv_${at}]\u001e[ONNX Layer: relu_${at}]`,
		...over(at),
	}));
	return engineModel({ info: parseLayerInfo(JSON.stringify({ Layers, Bindings: [] })), profiles: [], graph });
}

const changes: Readonly<Record<string, Change>> = {
	unchanged: () => ({}),
	"a third in fp32": (at) => (at % 3 === 0 ? { Weights: { Type: "Float", Count: 64 + (at % 7) } } : {}),
	"all nodes renamed": (at) => ({ Metadata: `[ONNX Layer: other_${at}]` }),
};

const limitMs = 300;
const runs = 7;

let failed = false;

function cpuMs(times: number, work: () => unknown): number {
	const tookMs = Array.from({ length: times }, () => {
		const before = process.cpuUsage();
		work();
		const { user, system } = process.cpuUsage(before);
		return (user + system) / 1000;
	});
	return tookMs.sort((a, b) => a - b)[Math.floor(tookMs.length / 2)] ?? 0;
}

function report(what: string, tookMs: number, allowedMs: number): void {
	const isOver = tookMs > allowedMs;
	failed ||= isOver;
	process.stdout.write(
		`${what}: ${tookMs.toFixed(0)} ms${isOver ? `, over the limit of ${allowedMs} ms` : ""}\n`,
	);
}

for (const count of [5000, 100_000]) {
	for (const [name, change] of Object.entries(changes)) {
		const [base, head] = [chain(count, () => ({})), chain(count, change)];
		const middle = cpuMs(count > 5000 ? 1 : runs, () =>
			diffEngines({ base, head }, { gpu: null, enginesMs: null }),
		);
		report(`${count} layers, ${name}`, middle, count === 5000 ? limitMs : Number.POSITIVE_INFINITY);
	}
}
const third: Change = (at) => (at % 3 === 0 ? { Weights: { Type: "Float", Count: 64 } } : {});
const drawn = diffEngines(
	{ base: chain(2000, () => ({})), head: chain(2000, third) },
	{ gpu: null, enginesMs: null },
);
const page = () => renderDiffs([{ title: "2,000 groups", diff: drawn }], "html", "");
report(
	`${drawn.graph?.groups.length} groups drawn, ${(page().length / 1e6).toFixed(1)} MB`,
	cpuMs(runs, page),
	1000,
);

/** From the start of the load until the browser has painted all of it. The page's policy would forbid the question, so it is left out. */
async function paintMs(text: string): Promise<number> {
	const folder = mkdtempSync(join(tmpdir(), "paint-"));
	const ask = `addEventListener("load", () => requestAnimationFrame(() => setTimeout(() => {
	const [first] = performance.getEntriesByName("first-contentful-paint");
	fetch("/painted", { method: "POST", body: JSON.stringify([first?.startTime ?? -1, performance.now()]) });
})));`;
	const page = `${text.replace(/<meta http-equiv="Content-Security-Policy"[^>]*>/, "")}<script>${ask}</script>`;
	const server = createServer().listen(0, "127.0.0.1");
	await once(server, "listening");
	const { port } = server.address() as AddressInfo;
	const words = [
		"--headless",
		"--no-sandbox",
		"--disable-gpu",
		"--window-size=1280,2000",
		"--remote-debugging-port=0",
	];
	const browser = spawn(
		process.env["CHROMIUM"] ?? "chromium",
		[...words, `--user-data-dir=${folder}`, `http://127.0.0.1:${port}/`],
		{
			stdio: "ignore",
		},
	);
	try {
		return await new Promise<number>((done, fail) => {
			browser.once("error", fail);
			server.on("request", (request, response) => {
				if (request.method !== "POST")
					return void response.setHeader("content-type", "text/html").end(request.url === "/" ? page : "");
				request.on("data", (body) => done(Math.max(...(JSON.parse(String(body)) as number[]))));
			});
		});
	} finally {
		browser.kill();
		await once(browser, "exit");
		server.closeAllConnections();
		server.close();
		rmSync(folder, { recursive: true, force: true, maxRetries: 5 });
	}
}

if (process.env["CHROMIUM"] !== undefined) {
	const engines = { base: chain(1000, () => ({}), modelOf(1000)), head: chain(1000, third, modelOf(1000)) };
	const { graph, ...rest } = diffEngines(engines, { gpu: null, enginesMs: null });
	const pages = {
		"2,000 ONNX nodes in both panes": { ...rest, ...(graph && { graph }) },
		"the same page without them": rest,
	};
	for (const [what, diff] of Object.entries(pages)) {
		const page = renderDiffs([{ title: "2,000 nodes", diff }], "html", "");
		const times: number[] = [];
		for (let run = 0; run < runs; run += 1) times.push(await paintMs(page));
		// Another program's turn only delays: the fastest run is the least disturbed.
		report(`${what} painted, ${(page.length / 1e6).toFixed(1)} MB`, Math.min(...times), 1000);
	}
}
process.exitCode = failed ? 1 : 0;
