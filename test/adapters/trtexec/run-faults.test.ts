import { expect, it } from "vitest";
import { bed, infer, measure, recorded } from "../../support/replay/bed.ts";
import type { ReplayFault } from "../../support/replay/install.ts";

const perf = (fault: ReplayFault["do"]): ReplayFault => ({ step: "perf", do: fault });
const killed = (step: ReplayFault["step"], signal: string): ReplayFault => ({ step, do: "kill", signal });

const runs: [what: string, fault: ReplayFault, code: string, says: RegExp][] = [
	["dies of SIGSEGV while it is timed", killed("perf", "SIGSEGV"), "tool-crashed", /SIGSEGV/],
	["leaves times that are cut off", perf("truncated-times"), "tool-output", /times file is truncated/],
	["leaves fewer times than it speaks of", perf("fewer-times"), "tool-output", /reports 400/],
	["reports another throughput", perf("other-throughput"), "tool-output", /trtexec reports 123\.4/],
	["leaves no times and says PASSED", perf("no-times"), "tool-output", /export-missing/],
	["times without the CUDA graph that was asked for", perf("other-mode"), "tool-output", /no CUDA graph/],
	["ends without its last line", perf("no-last-line"), "tool-output", /ended-early/],
	["runs out of GPU memory", recorded("perf", "fail-gpu-memory-context"), "tool-crashed", /gpu-memory-run/],
	["finds no GPU any more for a golden case", recorded("golden", "fail-no-gpu"), "tool-crashed", /no-gpu/],
	["is gone after the builds", perf("vanish"), "tool-missing", /program-missing/],
	["finds its plan damaged", perf("damaged-plan"), "tool-output", /plan-damaged/],
	["hangs on a golden case", { step: "golden", do: "hang" }, "tool-timeout", /\[timed-out\]/],
	["fails on a golden case", { step: "golden", do: "exit", code: 7, says: "xyzzy" }, "tool-crashed", /xyzzy/],
];

it.each(runs)("a trtexec that %s gives no result", async (_what, fault, code, says) => {
	const here = bed({ faults: [fault] });
	const engine = await here.engine();
	const timeoutMs = fault.do === "hang" ? 1000 : 600_000;
	// The next run meets the leftovers of these.
	if (["vanish", "damaged-plan"].includes(fault.do)) expect((await measure(here, engine)).state).toBe("ok");
	const result = await (fault.step === "golden"
		? infer(here, engine, { timeoutMs })
		: measure(here, engine, timeoutMs));
	expect(result).toMatchObject({ state: fault.step === "golden" ? "failed" : "unusable", failure: { code } });
	expect(JSON.stringify(result)).toMatch(says);
});

it.each<[string, ReplayFault, RegExp]>([
	["refuses an input's name", recorded("golden", "fail-input-unknown-name"), /\[input-name-unknown\]/],
	["cuts a dump short", recorded("golden", "golden-data-dependent-fp32-0"), /\[raw-dump-truncated\]/],
	["leaves an output of too few bytes", { step: "golden", do: "short-output" }, /logits_out.*bytes/],
	["leaves an output out", { step: "golden", do: "no-output" }, /logits_out.*is not there/],
])("a trtexec that %s for a golden case fails that case, and names it", async (_what, fault, says) => {
	const here = bed({ faults: [fault] });
	const result = await infer(here, await here.engine());
	expect(result).not.toMatchObject({ cases: [{ state: "done" }] });
	expect(JSON.stringify(result)).toMatch(says);
});

it.each([
	["prints bytes that are no text", { do: "invalid-utf8-then-work" }],
	["floods its log with 100 MB of errors", { do: "flood-of-errors-then-work", bytes: 100e6 }],
])("a trtexec that %s is measured all the same", async (_what, fault) => {
	const here = bed({ faults: [{ step: "perf", ...fault }] });
	const result = await measure(here, await here.engine());
	expect(result.state === "ok" && result.samplesMs.length).toBe(400);
});
