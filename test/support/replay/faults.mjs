// What a replayed trtexec can do wrong, by name.
import { spawn } from "node:child_process";
import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { config } from "./recording.mjs";

/** Leaves a mark beside the questions: a test waits for it before it sends a signal. */
const forever = () => {
	writeFileSync(join(config.state, "hangs"), "");
	return new Promise(() => setInterval(() => {}, 1 << 30));
};
const passed = (line) => line.startsWith("&&&& PASSED");

/** The recorded run, with its files changed afterwards. */
const afterwards =
	(change) =>
	async (_fault, { step, replay, flags, spoken }) => {
		await replay({ ...step, transcript: [], signal: null });
		change(flags, step);
		for (const [, stream, line] of spoken(step))
			process[stream === "err" ? "stderr" : "stdout"].write(`${line}\n`);
		process.exitCode = 0;
	};

const edit = (flag, change) =>
	afterwards((flags) => {
		const path = flags.get(flag);
		writeFileSync(path, change(readFileSync(path, "utf8")));
	});

const say = (step, spoken, keep) => {
	for (const [, stream, line] of spoken(step))
		if (keep(line)) process[stream === "err" ? "stderr" : "stdout"].write(`${line}\n`);
};

function flood(bytes, line = "noise ".repeat(170)) {
	const chunk = Buffer.from(`${line}\n`.repeat(Math.ceil(65_536 / line.length)));
	return new Promise((done) => {
		let left = bytes;
		const more = () => {
			while (left > 0) {
				left -= chunk.length;
				if (!process.stdout.write(chunk)) return process.stdout.once("drain", more);
			}
			done();
		};
		more();
	});
}

const faults = {
	hang: forever,
	"hang-deaf": () => {
		process.on("SIGTERM", () => {});
		return forever();
	},
	flood: async (fault) => {
		await flood(fault.bytes);
		process.exitCode = 3;
	},
	"flood-then-work": async (fault, { step, replay }) => {
		await flood(fault.bytes);
		await replay(step);
	},
	"flood-of-errors-then-work": async (fault, { step, replay }) => {
		await flood(
			fault.bytes,
			"[11/21/2026-08:03:56] [E] [TRT] plugin acme: cannot do what layer block1 asks, which is nothing to worry about",
		);
		await replay(step);
	},
	"invalid-utf8": () => {
		process.stdout.write(Buffer.from([0xff, 0xfe, 27, 91, 51, 49, 109, 10]));
		process.stderr.write(Buffer.from([0xc3, 0x28, 0, 1, 2, 10]));
		process.exitCode = 3;
	},
	"invalid-utf8-then-work": async (_fault, { step, replay }) => {
		process.stdout.write(Buffer.from([0xff, 0xfe, 27, 91, 51, 49, 109, 10]));
		await replay(step);
	},
	"truncated-times": edit("--exportTimes", (text) => text.slice(0, text.length / 2)),
	"nan-times": edit("--exportTimes", (text) => text.replace(/"computeMs" : [\d.]+/, '"computeMs" : nan')),
	"fewer-times": edit(
		"--exportTimes",
		(text) => `${text.slice(0, text.indexOf("\n, ", text.length / 2))}\n]\n`,
	),
	"no-times": afterwards((flags) => rmSync(flags.get("--exportTimes"))),
	"zero-plan": afterwards((flags) => writeFileSync(flags.get("--saveEngine"), "")),
	"no-plan": afterwards((flags) => rmSync(flags.get("--saveEngine"))),
	"damaged-plan": async (_fault, { step, replay, flags }) => {
		const plan = readFileSync(flags.get("--loadEngine"));
		plan[plan.length - 1] ^= 1;
		writeFileSync(flags.get("--loadEngine"), plan);
		await replay(step);
	},
	"short-output": afterwards((_, step) => {
		const name = Object.keys(step.wrote).find((file) => file.includes(".output."));
		writeFileSync(name, readFileSync(name).subarray(4));
	}),
	"no-output": afterwards((_, step) =>
		rmSync(Object.keys(step.wrote).find((file) => file.includes(".output."))),
	),
	"other-version": async (_fault, { step, replay }) => {
		const change = (line) => line.replaceAll("v100600", "v100700").replaceAll("10.6.0", "10.7.0");
		await replay({
			...step,
			transcript: step.transcript.map(([ms, stream, line]) => [ms, stream, change(line)]),
		});
	},
	"other-mode": async (_fault, { step, replay }) => {
		const change = (line) => line.replace("CUDA Graph: Enabled", "CUDA Graph: Disabled");
		await replay({
			...step,
			transcript: step.transcript.map(([ms, stream, line]) => [ms, stream, change(line)]),
		});
	},
	"other-throughput": async (_fault, { step, replay }) => {
		const change = (line) => line.replace(/Throughput: [\d.]+/, "Throughput: 123.4");
		await replay({
			...step,
			transcript: step.transcript.map(([ms, stream, line]) => [ms, stream, change(line)]),
		});
	},
	unloaded: async (_fault, { step, replay }) => {
		await replay({
			...step,
			transcript: step.transcript.filter(([, , line]) => !line.includes("Engine deserialized")),
		});
	},
	"no-last-line": (_fault, { step, writeFiles, spoken }) => {
		writeFiles(step);
		say(step, spoken, (line) => !passed(line));
	},
	fork: async (fault, { step, replay }) => {
		const child = spawn(process.execPath, ["-e", "setInterval(() => {}, 1000)"], { stdio: "inherit" });
		writeFileSync(fault.pidFile, String(child.pid));
		child.unref();
		await replay(step);
		process.exit();
	},
	kill: (fault) => {
		process.kill(process.pid, fault.signal);
		return forever();
	},
	exit: (fault) => {
		process.stderr.write(`${fault.says ?? ""}\n`);
		process.exitCode = fault.code;
	},
	silent: () => {},
	/** Works, and is uninstalled meanwhile. */
	vanish: async (_fault, { step, replay }) => {
		rmSync(join(dirname(process.argv[2]), "trtexec"));
		await replay(step);
	},
};

export function misbehave(fault, context) {
	return faults[fault.do](fault, context);
}
