import { expect, it } from "vitest";
import { highlights } from "../../../src/core/report/highlights.ts";
import {
	buildBuild,
	buildComparison,
	buildGate,
	buildResult,
	buildSlowWorkload,
} from "../../support/build-result.ts";

const slower = (workload: string, estimate: number, model = "gutrec") => {
	const interval: [number, number] = [estimate - 0.005, estimate + 0.005];
	const latency = buildComparison({ verdict: "regressed", estimate, interval });
	return buildSlowWorkload({ model, workload, latency });
};
const titlesOf = (result: Parameters<typeof highlights>[0]) => highlights(result).map(({ title }) => title);

it("workloads of one model that became slower alike are one highlight, which explains all their gates", () => {
	const workloads = [slower("a", 0.02), slower("b", 0.065), slower("c", 0.03), slower("d", 0.04, "other")];
	const gates = workloads.map(({ model, workload }) => buildGate({ model, workload, status: "warn" }));
	expect(titlesOf(buildResult({ workloads, gates }))).toEqual([
		"gutrec · fp16 is 2.0 to 6.5 % slower in 3 of 3 workloads",
		"other · fp16 · d is 4.0 % slower (27.91 µs → 29.02 µs)",
	]);
});

it("gates of one model that say the same are one highlight, with a line for each that differs", () => {
	const gate = (workload: string, message: string) =>
		buildGate({ gate: "memory", workload, status: "fail", message });
	const same = highlights(buildResult({ gates: [gate("a", "Grew."), gate("b", "Grew.")] }));
	expect(same).toMatchObject([
		{ title: "encoder · fp16: the peak memory gate fails in 2 workloads", count: 2, sentences: ["Grew."] },
	]);
	const apart = highlights(buildResult({ gates: [gate("a", "Grew by 2 %."), gate("b", "Grew by 3 %.")] }));
	expect(apart).toMatchObject([{ lines: ["a: Grew by 2 %.", "b: Grew by 3 %."], sentences: [] }]);
});

it("engines of one model that were not built for one reason are one highlight, in one sentence, counted as engines", () => {
	const failure = {
		code: "path-outside-workspace",
		title: "calib leads to /srv/calib.",
		fix: "Copy it.",
		excerpt: [],
	};
	const builds = ["a", "b"].map((engine) => buildBuild({ engine, state: "missing", failure }));
	const [first] = highlights(buildResult({ builds }));
	expect(first?.title).toMatch(/was not built \(head\): calib leads to \/srv\/calib, in 2 engines$/);
	expect(first).toMatchObject({ count: 2, topic: ["engine not built", "engines not built"] });
});

it("gates of one subject are one highlight without a count of subjects, and a line for each", () => {
	const changed = (message: string) => {
		const {
			engine: _,
			workload: __,
			...ofFile
		} = buildGate({ gate: "limit-change", status: "warn", message });
		return { ...ofFile, model: "trtgate.yml" };
	};
	const all = Array.from({ length: 10 }, (_, index) => `measure.pairs: ${index}.`);
	expect(highlights(buildResult({ gates: all.map(changed) }))).toMatchObject([
		{
			title: "trtgate.yml: its rules need a review",
			count: 10,
			lines: [...all.slice(0, 8), "… and 2 more."],
		},
	]);
});
