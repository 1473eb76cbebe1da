// The gate `slo` and its section, on the recorded runs of TensorRT 10.6.
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { expect, it } from "vitest";
import { systemClock } from "../../src/adapters/clock.ts";
import { openRecording, replay, unpackFolder } from "../../src/adapters/replay/backend.ts";
import { silentProgress } from "../../src/adapters/terminal/progress.ts";
import { gate } from "../../src/app/gate.ts";
import { expectSchema } from "../support/expect-schema.ts";
import { temporaryFolder } from "../support/project.ts";

async function gateRecorded(slo: string) {
	const folder = temporaryFolder();
	const examples = resolve("examples/recorded");
	for (const arm of ["base", "head"]) {
		await unpackFolder(join(examples, arm), join(folder, arm));
		const path = join(folder, arm, "trtgate.yml");
		writeFileSync(path, `${readFileSync(path, "utf8")}\ngates: { slo: ${slo} }\n`);
	}
	mkdirSync(join(folder, "out"));
	const clock = systemClock();
	const { backend, telemetry } = replay(await openRecording(examples), clock);
	const done = await gate({
		...{ cwd: folder, base: "base", head: "head", out: "out", inputs: { backend: "onnxruntime" } },
		environment: { toolCache: join(folder, "cache") } as never,
		progress: silentProgress(),
		isFresh: true,
		ports: { backend, telemetry, clock },
	});
	if (done.state !== "ran") throw new Error("planned");
	const report = (name: string) => readFileSync(join(folder, "out", name), "utf8");
	return { result: done.result, report };
}

it("4 % more time of the recorded classifier fails an slo at 80 % load that its base keeps, and every report says so", async () => {
	const { result, report } = await gateRecorded("{ p99: 0.35ms, rate: 28700/s }");
	expectSchema(JSON.parse(report("result.json")), "result");
	const gates = result.gates.filter((one) => one.gate === "slo");
	expect(gates.map(({ model, status }) => [model, status])).toEqual([
		["segmenter", "pass"],
		["classifier", "fail"],
		["encoder", "fail"],
	]);
	const classifier = result.loads?.find(({ model }) => model === "classifier");
	const point = classifier?.points.find(({ share }) => share === 0.8);
	expect(point?.base?.p99Ms).toBeLessThan(0.35);
	expect(point?.lowMs).toBeGreaterThan(0.35);
	const markdown = report("report.md");
	expect(markdown).toMatch(/P99 at 80 % load \(computed\): classifier.*\+2\d\.\d %/);
	expect(markdown).not.toMatch(/80 % load \(computed\).*encoder/);
	expect(markdown).toContain("latency under load");
	const html = report("report.html");
	expect(html.match(/<polygon class="band"/g)).toHaveLength(3);
	expect(html).toMatch(/allowed at most 350\.0 µs, which holds up to 2\d,\d+ \/ s \(base: 29,\d+ \/ s\)/);
	expect(
		JSON.parse(report("exports/bencher.json"))["classifier · fp16 · batch 8 (replay of an H200)"],
	).toHaveProperty("p99-at-80");
});
