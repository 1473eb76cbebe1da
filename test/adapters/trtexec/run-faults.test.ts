// Timed runs and golden cases by a trtexec that fails, lies or misbehaves: each is a failure with its code, never a number.
import { expect, it } from "vitest";
import { bed, infer, measure } from "../../support/replay/bed.ts";
import type { ReplayFault } from "../../support/replay/install.ts";

interface RunRow {
	what: string;
	fault: ReplayFault;
	code: string;
	says: RegExp;
}

const runs: RunRow[] = [
	{
		what: "hangs while it is timed",
		fault: { step: "perf", do: "hang" },
		code: "tool-timeout",
		says: /\[timed-out\]/,
	},
	{
		what: "is killed while it is timed",
		fault: { step: "perf", do: "kill", signal: "SIGKILL" },
		code: "tool-crashed",
		says: /SIGKILL/,
	},
	{
		what: "dies of SIGSEGV while it is timed",
		fault: { step: "perf", do: "kill", signal: "SIGSEGV" },
		code: "tool-crashed",
		says: /SIGSEGV/,
	},
	{
		what: "leaves times that are cut off",
		fault: { step: "perf", do: "truncated-times" },
		code: "tool-output",
		says: /times file is truncated/,
	},
	{
		what: "leaves a time that is NaN",
		fault: { step: "perf", do: "nan-times" },
		code: "tool-output",
		says: /not a finite number/,
	},
	{
		what: "leaves an infinite time",
		fault: { step: "perf", do: "infinite-times" },
		code: "tool-output",
		says: /not a finite number/,
	},
	{
		what: "leaves a time below 0",
		fault: { step: "perf", do: "negative-times" },
		code: "tool-output",
		says: /not a list of entries/,
	},
	{
		what: "leaves an empty list of times",
		fault: { step: "perf", do: "empty-times" },
		code: "tool-output",
		says: /no iteration/,
	},
	{
		what: "leaves a page instead of times",
		fault: { step: "perf", do: "html-times" },
		code: "tool-output",
		says: /not a list|truncated/,
	},
	{
		what: "leaves fewer times than it speaks of",
		fault: { step: "perf", do: "fewer-times" },
		code: "tool-output",
		says: /reports 400/,
	},
	{
		what: "reports another throughput than its times give",
		fault: { step: "perf", do: "other-throughput" },
		code: "tool-output",
		says: /trtexec reports 123\.4/,
	},
	{
		what: "leaves no times and says PASSED",
		fault: { step: "perf", do: "no-times" },
		code: "tool-output",
		says: /export-missing/,
	},
	{
		what: "times without the CUDA graph that was asked for",
		fault: { step: "perf", do: "other-mode" },
		code: "tool-output",
		says: /no CUDA graph/,
	},
	{
		what: "is another version in the middle",
		fault: { step: "perf", do: "other-version" },
		code: "tool-output",
		says: /10\.7\.0/,
	},
	{
		what: "ends without its last line",
		fault: { step: "perf", do: "no-last-line" },
		code: "tool-output",
		says: /ended-early/,
	},
	{
		what: "runs out of GPU memory",
		fault: { step: "perf", do: "recording", recording: "10.6/fail-gpu-memory-context" },
		code: "tool-crashed",
		says: /gpu-memory-run/,
	},
	{
		what: "cannot load its plan",
		fault: { step: "perf", do: "recording", recording: "10.6/fail-engine-truncated" },
		code: "tool-crashed",
		says: /plan-truncated/,
	},
	{
		what: "finds its plan gone",
		fault: { step: "perf", do: "recording", recording: "10.6/fail-engine-no-file" },
		code: "tool-crashed",
		says: /plan-file-missing/,
	},
	{
		what: "finds its plan empty",
		fault: { step: "perf", do: "recording", recording: "10.6/fail-engine-empty" },
		code: "tool-crashed",
		says: /plan-file-empty/,
	},
	{
		what: "is asked for a shape outside of the profile",
		fault: { step: "perf", do: "recording", recording: "10.6/fail-shape-outside-profile" },
		code: "tool-crashed",
		says: /shape-outside-profile/,
	},
	{
		what: "finds no GPU any more after the build",
		fault: { step: "perf", do: "recording", recording: "10.6/fail-no-gpu" },
		code: "tool-crashed",
		says: /sees no GPU\. \[no-gpu\]/,
	},
	{
		what: "finds no GPU any more for a golden case",
		fault: { step: "golden", do: "recording", recording: "10.6/fail-no-gpu" },
		code: "tool-crashed",
		says: /no-gpu/,
	},
	{
		what: "is gone after the builds",
		fault: { step: "perf", do: "vanish" },
		code: "tool-missing",
		says: /program-missing/,
	},
	{
		what: "finds its plan damaged",
		fault: { step: "perf", do: "damaged-plan" },
		code: "tool-output",
		says: /plan-damaged/,
	},
	{
		what: "hangs on a golden case",
		fault: { step: "golden", do: "hang" },
		code: "tool-timeout",
		says: /\[timed-out\]/,
	},
	{
		what: "is killed on a golden case",
		fault: { step: "golden", do: "kill", signal: "SIGKILL" },
		code: "tool-crashed",
		says: /SIGKILL/,
	},
	{
		what: "fails on a golden case and says nothing known",
		fault: { step: "golden", do: "exit", code: 7, says: "xyzzy" },
		code: "tool-crashed",
		says: /xyzzy/,
	},
];

it.each(runs)("a trtexec that $what makes no result: $code", async ({ fault, code, says }) => {
	const here = bed({ replay: { faults: [fault] } });
	const engine = await here.engine();
	const timeoutMs = fault.do === "hang" ? 1000 : 600_000;
	// What these leave behind meets the next run.
	if (["vanish", "damaged-plan"].includes(fault.do)) expect((await measure(here, engine)).state).toBe("ok");
	const result = await (fault.step === "golden"
		? infer(here, engine, { timeoutMs })
		: measure(here, engine, timeoutMs));
	expect(result).toMatchObject({ state: fault.step === "golden" ? "failed" : "unusable", failure: { code } });
	expect(JSON.stringify(result)).toMatch(says);
});

it.each([
	[
		"refuses an input's name",
		{ do: "recording", recording: "10.6/fail-input-unknown-name" },
		/\[input-name-unknown\]/,
	],
	[
		"cuts a dump short",
		{ do: "recording", recording: "10.6/golden-data-dependent-fp32-0" },
		/\[raw-dump-truncated\]/,
	],
	["leaves an output of too few bytes", { do: "short-output" }, /logits_out.*bytes/],
	["leaves an output out", { do: "no-output" }, /logits_out.*is not there/],
])("a trtexec that %s for a golden case fails that case, and names it", async (_what, fault, says) => {
	const here = bed({ replay: { faults: [{ step: "golden", ...fault }] } });
	const result = await infer(here, await here.engine());
	expect(result).not.toMatchObject({ cases: [{ state: "done" }] });
	expect(JSON.stringify(result)).toMatch(says);
});

it.each([
	["prints bytes that are no text", { do: "invalid-utf8-then-work" }],
	["floods its log with 100 MB of errors", { do: "flood-of-errors-then-work", bytes: 100e6 }],
])("a trtexec that %s is measured all the same", async (_what, fault) => {
	const here = bed({ replay: { faults: [{ step: "perf", ...fault }] } });
	const result = await measure(here, await here.engine());
	expect(result.state === "ok" && result.samplesMs.length).toBe(400);
});
