// Stands in for trtexec: answers from recordings. Its first argument is the path of a JSON file:
// { comparison, state, models: { base?, head? }, faults: [{ step, side?, from?, do, recording? }], version?, scale? }
import { misbehave } from "./faults.mjs";
import {
	config,
	countUp,
	find,
	flags,
	helpText,
	noteAsked,
	openRecording,
	recordedCase,
	renderTimes,
	spoken,
	writeFiles,
} from "./recording.mjs";

const [configPath, ...argv] = process.argv.slice(2);
openRecording(configPath, argv, process.cwd());
const asked = noteAsked(process.env["CUDA_VISIBLE_DEVICES"] ?? null);

/** Whether the fault's turn has come. */
function isDue(one) {
	if (one.step !== asked.step || (one.arm ?? asked.arm) !== asked.arm) return false;
	if (one.from === undefined && one.until === undefined) return true;
	const times = countUp(`fault-${one.do}`);
	return times >= (one.from ?? 0) && times < (one.until ?? Number.POSITIVE_INFINITY);
}

const fault = (config.faults ?? []).find(isDue);

const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function replay(step) {
	writeFiles(step);
	let at = 0;
	for (const [ms, stream, line] of spoken(step)) {
		const waitMs = (ms - at) * (config.scale ?? 0);
		if (waitMs > 1) await sleep(waitMs);
		at = ms;
		process[stream === "err" ? "stderr" : "stdout"].write(`${line}\n`);
	}
	if (step.signal) {
		// What was said must reach the pipe first.
		await sleep(20);
		process.kill(process.pid, step.signal);
		await sleep(10_000);
	}
	process.exitCode = step.exitCode ?? 1;
}

if (fault?.do === "recording") await replay(recordedCase(fault.recording));
else if (fault)
	await misbehave(fault, {
		flags,
		step: asked.step === "help" ? null : find(asked),
		writeFiles,
		replay,
		spoken,
		renderTimes,
	});
else if (asked.step === "help") process.stdout.write(helpText());
else {
	const step = find(asked);
	if (step) await replay(step);
	else {
		process.stderr.write("the replay knows no run like this\n");
		process.exitCode = 99;
	}
}
