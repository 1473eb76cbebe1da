// The gate `payoff`, by tables of comparisons with a sibling.
import { expect, it } from "vitest";
import type { Comparison, ErrorRecord } from "../../../generated/result.ts";
import { judgePayoff } from "../../../src/core/gates/serving.ts";
import { buildConfig } from "../../support/build-config.ts";
import { buildComparison } from "../../support/build-result.ts";

function judge(latency: Partial<Comparison>, payoff: string, errors: ErrorRecord[] = []) {
	const config = buildConfig(`gates: { payoff: ${payoff} }`);
	const subject = { model: "net", engine: "plain", against: "fp16", workload: "one" };
	const sibling = { ...subject, latency: buildComparison(latency), sibling: null, own: null, replaced: 0 };
	return judgePayoff(sibling, config.models[0]!.engines[0]!.workloads[0]!, { config, errors })[0];
}

const decided = (estimate: number, half: number, verdict: Comparison["verdict"]): Partial<Comparison> => ({
	...{ verdict, estimate, interval: [estimate - half, estimate + half] },
});
const nothing = { estimate: null, interval: null, excluded: null, pairs: 0 };

it.each([
	["twice as fast", decided(-0.5, 0.01, "improved"), "pass"],
	["5.3 % faster: 1 / 0.95", decided(-0.05, 0.004, "improved"), "pass"],
	["4.9 % faster", decided(-0.047, 0.004, "unchanged"), "warn"],
	["3.1 % faster, perhaps less than 3 %", decided(-0.03, 0.004, "unchanged"), "warn"],
	["surely less than 3 % faster", decided(-0.01, 0.004, "unchanged"), "fail"],
	["slower", decided(0.1, 0.01, "regressed"), "fail"],
	["undecided", decided(-0.045, 0.02, "inconclusive"), "inconclusive"],
	["the sibling is not part of the run", { ...nothing, verdict: "missing" }, "inconclusive"],
	["its runs were unusable", { ...nothing, verdict: "not-comparable" }, "fail"],
] as const)("with 5 %% and 3 %% wanted, an engine %s: %s", (_, latency, status) => {
	expect(judge(latency as Partial<Comparison>, "{ warn: 5%, fail: 3% }")?.status).toBe(status);
});

it("only a limit that fails leaves open what is near it", () => {
	expect(judge(decided(-0.028, 0.004, "unchanged"), "{ warn: off, fail: 3% }")?.status).toBe("inconclusive");
	expect(judge(decided(-0.05, 0.004, "improved"), "{ warn: off, fail: 3% }")?.status).toBe("pass");
	expect(judge(decided(0.2, 0.004, "regressed"), "{ warn: off }")).toBeUndefined();
});

it("an error of the run that explains it leaves a pair that cannot be compared open", () => {
	const error = { kind: "runner", code: "tool-crashed", message: "", model: "net", workload: "one" } as const;
	const latency = { ...nothing, verdict: "not-comparable" } as const;
	expect(judge(latency, "{ warn: 5% }", [error])?.status).toBe("inconclusive");
});

it("the message has the change, its interval and the gain, and says of equal engines that nothing was timed", () => {
	expect(judge(decided(-0.04, 0.004, "unchanged"), "{ warn: 5% }")?.message).toBe(
		"Against fp16: −4.0 % (99 % interval −4.4 to −3.6 %), 8 pairs. So it is 4.2 % faster; 5 % faster is wanted.",
	);
	const same = {
		...decided(0, 0, "unchanged"),
		pairs: 0,
		reason: "Both engines are the same, byte for byte.",
	};
	expect(judge(same, "{ warn: 5% }")).toMatchObject({
		status: "warn",
		message: expect.stringContaining("Both engines are the same, byte for byte. So it is not faster"),
	});
});
