import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { git } from "../support/git-history.ts";
import {
	expectExit,
	type Gated,
	gateFolders,
	quickConfig,
	quickProject,
	temporaryFolder,
} from "../support/project.ts";

const config = (gates: string): string => quickConfig.replace(/gates:.*\n/, gates);

const loose =
	"gates: { golden: { relative-l2: 1000000000 }, golden-change: off, latency: { fail: 400% }, limit-change: off }\n";

function gateCommits(base: string, head: string, change = (_folder: string) => {}): Promise<Gated> {
	const folder = quickProject(temporaryFolder(), { "trtgate.yml": base });
	git(folder, "init", "-q");
	git(folder, "add", "-A");
	git(folder, "commit", "-qm", "base");
	quickProject(folder, { "trtgate.yml": head });
	change(folder);
	git(folder, "add", "-A");
	git(folder, "commit", "-qm", "head");
	return gateFolders(folder, { sides: ["--base", "HEAD~1"] });
}

const judgedByBase = "It holds after the merge; this change was judged by the base's.";
const limitChanges = ({ result }: Gated) => result.gates.filter(({ gate }) => gate === "limit-change");

it("a head that loosens its own limits warns of each of them, in every report, and cannot switch that off for itself", async () => {
	const gated = await gateCommits(config(""), config(loose));
	expectExit(gated.run, 0);
	expect(gated.result.outcome).toBe("warn");
	const told = [
		"gates.golden.relative-l2.fp32: 0.001 → 1000000000.",
		"gates.golden-change: warn → off.",
		"gates.limit-change: warn → off.",
		"gates.latency.fail: 10 % → 400 %.",
	];
	expect(limitChanges(gated).map(({ status, message }) => [status, message])).toEqual(
		told.map((says) => ["warn", `${says} ${judgedByBase} It needs a review.`]),
	);
	expect(
		limitChanges(gated).every(({ location }) => location?.path === "trtgate.yml" && location.line === 11),
	).toBe(true);
	for (const name of ["terminal", "report.md", "report.html", "junit.xml"]) {
		const words = gated.report(name).replace(/\s+/g, " ").replaceAll("\\", "");
		for (const says of told) expect(words, name).toContain(says);
	}
});

it("a head that loosens its own limits is judged by the base's, and does not silence the alarm about its own golden", async () => {
	const head = config(loose);
	const change = (folder: string): void => {
		quickProject(folder, { "trtgate.yml": head, "model.onnx": "fixture:wrong.onnx" });
		const path = join(folder, "golden/golden.json");
		const manifest = JSON.parse(readFileSync(path, "utf8"));
		writeFileSync(path, JSON.stringify({ ...manifest, cases: manifest.cases.slice(1) }));
	};
	const base = config("gates: { golden-change: fail, limit-change: fail }\n");
	const { run, result } = await gateCommits(base, head, change);
	expect([run.exit, result.outcome]).toEqual([1, "fail"]);
	const states = (name: string) =>
		result.gates.filter(({ gate }) => gate === name).map(({ status }) => status);
	expect([states("golden"), states("golden-change")]).toEqual([["fail"], ["fail"]]);
	expect(states("limit-change")).toEqual(["fail", "fail", "fail", "fail"]);
});

it("a head that loosens its own limits is accepted without a word if the base allows it", async () => {
	const gated = await gateCommits(config("gates: { limit-change: off }\n"), config(loose));
	expect(gated.result.outcome).toBe("pass");
	expect(limitChanges(gated)).toEqual([]);
});

it("a head that tightens its own limits passes, and the report lists each of them", async () => {
	const gated = await gateCommits(config(loose), config(""));
	expect(gated.result.outcome).toBe("pass");
	expect(limitChanges(gated).map(({ status, message }) => [status, message])).toEqual(
		[
			"gates.golden.relative-l2.fp32: 1000000000 → 0.001.",
			"gates.golden-change: off → warn.",
			"gates.limit-change: off → warn.",
			"gates.latency.fail: 400 % → 10 %.",
		].map((says) => ["pass", `${says} ${judgedByBase}`]),
	);
});
