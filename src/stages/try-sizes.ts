// Tries sizes for open axes on the model itself, best first.
import { fillShapes } from "../core/onnx/input-shapes/bind.ts";
import type { OpenInputs } from "../core/onnx/input-shapes/open-axes.ts";
import { type Attempt, type SizeSearch, type Sizes, searchSizes } from "../core/onnx/input-shapes/search.ts";
import { counted } from "../core/text/labels.ts";
import type { RecordPorts } from "../golden/stages/record-sensitivity.ts";
import type { InferCase, InferResult } from "../ports/backend.ts";
import type { ModelOnDisk } from "../ports/world.ts";

export interface TryInput {
	model: ModelOnDisk;
	bound: OpenInputs;
	feed(shapes: Readonly<Record<string, readonly number[]>>): InferCase["inputs"];
	limitMs: number;
	scratchFolder: string;
}

/** guessed: the model could not be tried. none: no sizes ran in time, or static shapes rule out all. */
type TriedSizes =
	| { state: "ran"; sizes: Sizes }
	| { state: "guessed"; sizes: Sizes; why: string }
	| { state: "none"; attempts: readonly Attempt[] };

const triesPerProcess = 4;

export async function trySizes(input: TryInput, ports: RecordPorts): Promise<TriedSizes> {
	const search = searchSizes(input.model.onnx, input.bound);
	const endMs = ports.clock.now() + input.limitMs;
	ports.progress.stage("sizes", 1);
	for (;;) {
		const tried = await tryRound(search, { ...input, limitMs: endMs - ports.clock.now() }, ports);
		if (tried === null) continue;
		ports.progress.done(
			tried.state === "ran" ? `found after ${counted(search.attempts.length + 1, "attempt")}` : tried.state,
		);
		return tried;
	}
}

async function tryRound(search: SizeSearch, input: TryInput, ports: RecordPorts): Promise<TriedSizes | null> {
	const { attempts } = search;
	const round = search.next(triesPerProcess);
	const [first] = round;
	if (first === undefined || input.limitMs <= 0) return { state: "none", attempts };
	ports.progress.item(label(first));
	const result = await runAll(round, { ...input, stopAtFirst: true }, ports);
	if (typeof result === "string") {
		const isNew = attempts.every(({ by }) => by !== "run");
		return isNew ? { state: "guessed", sizes: first, why: result } : { state: "none", attempts };
	}
	for (const [index, sizes] of round.entries()) {
		const why = faultOf(result[index]);
		if (why === null) return { state: "ran", sizes };
		if (why !== undefined) search.failed(sizes, why);
	}
	return null;
}

function label(sizes: Sizes) {
	return [...sizes].map(([name, size]) => `${name} ${size}`).join(", ");
}

async function runAll(round: readonly Sizes[], input: TryInput & { stopAtFirst?: true }, ports: RecordPorts) {
	const [build] = await ports.reference.builds();
	if (build === undefined) return "there is no ONNX Runtime";
	const cases = round.map((sizes, index) => ({
		id: String(index),
		inputs: input.feed(fillShapes(input.bound, sizes) ?? {}),
	}));
	const result = await ports.reference.run({
		model: input.model,
		cases,
		variant: { flavour: build.flavour, level: "basic", threads: 1 },
		stopAtFirst: input.stopAtFirst,
		scratchFolder: input.scratchFolder,
		logPath: `${input.scratchFolder}/sizes.log`,
		timeoutMs: Math.ceil(input.limitMs),
	});
	if (result.state === "done") return result.cases;
	return result.failure.code === "tool-timeout" ? "time ran out" : result.failure.message;
}

function faultOf(answer: Extract<InferResult, { state: "done" }>["cases"][number] | undefined) {
	if (answer === undefined) return undefined;
	if (answer.state === "failed") return answer.message;
	const empty = Object.entries(answer.outputs).find(([, { shape }]) => shape.includes(0));
	return empty === undefined ? null : `output ${empty[0]} is empty`;
}

export async function checkSizes(
	groups: readonly (readonly Sizes[])[],
	input: TryInput,
	ports: RecordPorts,
): Promise<(boolean | undefined)[]> {
	const endMs = ports.clock.now() + input.limitMs;
	ports.progress.stage("other sizes", groups.length);
	const ran: (boolean | undefined)[] = [];
	for (const group of groups) {
		const limitMs = endMs - ports.clock.now();
		ports.progress.item(group.map(label).join("; "));
		const result = limitMs <= 0 ? "time ran out" : await runAll(group, { ...input, limitMs }, ports);
		ran.push(
			...group.map((_, index) => (typeof result === "string" ? undefined : faultOf(result[index]) === null)),
		);
	}
	ports.progress.done(`${ran.filter((each) => each === true).length} of ${ran.length} run`);
	return ran;
}
