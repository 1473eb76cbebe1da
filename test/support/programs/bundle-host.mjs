// Runs entry points of the bundle, one after the other: a Node of its own costs more than most of what they do.
// A job from the parent is { entry, argv, env, cwd }, its answer { exit, stdout, stderr }.
import { existsSync, readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const streams = ["stdout", "stderr"];
const ending = ["exit", "SIGINT", "SIGTERM", "SIGHUP"];
const endProcess = process.exit.bind(process);
const ownListeners = new Map(ending.map((event) => [event, process.listeners(event)]));
let written;
let runs = 0;

for (const name of streams)
	process[name].write = (chunk, encoding, done) => {
		written[name].push(Buffer.from(chunk));
		const callback = typeof encoding === "function" ? encoding : done;
		if (callback) process.nextTick(callback);
		return true;
	};
process.exit = (code) => {
	process.exitCode = code ?? process.exitCode;
};

function prepare({ entry, argv, env, cwd }) {
	written = { stdout: [], stderr: [] };
	process.argv = [process.execPath, entry, ...argv];
	process.exitCode = undefined;
	process.chdir(cwd);
	for (const name of Object.keys(process.env)) delete process.env[name];
	Object.assign(process.env, env);
}

/** What the end of a process does. */
function tidyUp() {
	for (const event of ending)
		for (const listener of process.listeners(event))
			if (!ownListeners.get(event).includes(listener)) {
				if (event === "exit") listener(process.exitCode);
				process.off(event, listener);
			}
	for (const name of streams) process[name].removeAllListeners("error");
	// Workers that end with the process that started them.
	const list = `/proc/${process.pid}/task/${process.pid}/children`;
	const children = existsSync(list) ? readFileSync(list, "utf8").split(" ") : [];
	for (const pid of children) if (pid.trim() !== "") process.kill(Number(pid), "SIGKILL");
}

process.on("message", async (job) => {
	prepare(job);
	runs += 1;
	// Only the entry point is loaded again; the chunks that it imports stay.
	await import(`${pathToFileURL(job.entry)}?run=${runs}`);
	// An action ends itself once its last words are written.
	await new Promise((done) => setImmediate(done));
	tidyUp();
	const [stdout, stderr] = streams.map((name) => Buffer.concat(written[name]).toString("utf8"));
	const exit = process.exitCode ?? 0;
	process.exitCode = undefined;
	process.send({ exit, stdout, stderr });
});
process.on("disconnect", () => endProcess(0));
