// Stands in for ONNX Runtime's worker in tests of what is around it: a job is done for real once, and the same job on the
// same bytes is answered with what the real worker left and said then. Faults and changes of weights are never remembered.
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

const sha256 = (bytes) => createHash("sha256").update(bytes).digest("hex");

/** The job with the bytes in place of the paths; the runs of one comparison stay runs of their own by their files' names. */
function keyOf(job) {
	const weights = job.external.map((name) => join(dirname(job.modelPath), name));
	const told = (key, value) => {
		if (typeof value !== "string" || !value.startsWith("/")) return value;
		if (key === "samplesPath") return basename(value);
		return key !== "saveTo" && existsSync(value) && statSync(value).isFile() ? sha256(readFileSync(value)) : "";
	};
	return sha256(JSON.stringify({ ...job, weights, resultPath: "" }, told));
}

/** Files that the reply speaks of, by where they are. */
function filesOf(job, reply) {
	if (job.kind === "measure") return [job.samplesPath];
	if (job.kind !== "infer") return [];
	return reply.cases.flatMap((one) => (one.outputs ?? []).map(({ path }) => join(job.outputFolder, path)));
}

function replay(job, place) {
	const { reply, said } = JSON.parse(readFileSync(join(place, "answer.json"), "utf8"));
	for (const [stream, text] of said) process[stream].write(text);
	for (const [at, path] of filesOf(job, reply).entries()) copyFileSync(join(place, `${at}.bin`), path);
	writeFileSync(job.resultPath, JSON.stringify(reply));
}

function listen() {
	const said = [];
	for (const stream of ["stdout", "stderr"]) {
		const write = process[stream].write.bind(process[stream]);
		process[stream].write = (text, ...more) => {
			said.push([stream, String(text)]);
			return write(text, ...more);
		};
	}
	return said;
}

function remember(job, place, said) {
	const reply = JSON.parse(readFileSync(job.resultPath, "utf8"));
	if (reply.kind !== job.kind) return;
	const fresh = `${place}.${process.pid}`;
	mkdirSync(fresh, { recursive: true });
	for (const [at, path] of filesOf(job, reply).entries()) copyFileSync(path, join(fresh, `${at}.bin`));
	writeFileSync(join(fresh, "answer.json"), JSON.stringify({ reply, said }));
	// Another process may have been as fast.
	if (!existsSync(place)) renameSync(fresh, place);
}

/** Answers the job of this process; `memory` is a folder, `itself` the address of the real worker. */
export async function answer(memory, itself) {
	const job = JSON.parse(readFileSync(process.argv[2], "utf8"));
	const place = join(memory, keyOf(job));
	if (existsSync(place)) return replay(job, place);
	if (job.kind !== "mutate") {
		const said = listen();
		process.once("exit", (code) => code === 0 && remember(job, place, said));
	}
	await import(itself);
}
