// Times both sides of a pair in two processes that live at once and take turns, so that whatever slows the machine slows both.
// The processes are fresh for each pair, and not threads of one host with a shared compiled module: where the system puts a process's
// memory and code affects all of its iterations, so only fresh processes sample it; and peak memory is known per process only.
import { firstArms } from "../../core/compare/schedule.ts";
import { isTimedEnough, type Turns } from "../../core/compare/turns.ts";
import type { Arm } from "../../core/schema/result.ts";
import type { MeasurePairJob, MeasureResult } from "../../ports/backend.ts";
import { cutLines } from "../process/lines.ts";
import type { Pipes } from "../process/spawn.ts";
import type { OnnxRuntimeContext } from "./build.ts";
import { measureRun } from "./measure.ts";
import { parseTurnLine } from "./protocol.ts";

export async function measurePair(job: MeasurePairJob, context: OnnxRuntimeContext): Promise<Record<Arm, MeasureResult>> {
	const players = { base: createPlayer(), head: createPlayer() };
	const run = (arm: Arm): Promise<MeasureResult> => {
		const limited = { ...job.runs[arm], warmUpMs: job.limits.warmUpMs };
		return measureRun(limited, context, players[arm].talk).finally(players[arm].leave);
	};
	const [base, head, ended] = await Promise.all([run("base"), run("head"), takeTurns(job, players)]);
	return { base: ended === "head" ? besides(head, base) : base, head: ended === "base" ? besides(base, head) : head };
}

/** What a run is worth whose partner ended first: nothing, unless the partner was through. */
function besides(partner: MeasureResult, own: MeasureResult): MeasureResult {
	return partner.state === "ok" ? own : { ...partner, reason: "the other run of its pair was unusable", wallMs: own.wallMs };
}

/** Resolves to the side whose process ended before its time, or null. */
async function takeTurns(job: MeasurePairJob, players: Readonly<Record<Arm, Player>>): Promise<Arm | null> {
	const turns: Record<Arm, Turns & { fastestMs: number[] }> = { base: { timedMs: 0, fastestMs: [] }, head: { timedMs: 0, fastestMs: [] } };
	const arms = (round: number): readonly Arm[] => (firstArms(job.seed, round + 1)[round] === "head" ? ["head", "base"] : ["base", "head"]);
	let ended: Arm | null = null;
	for (const arm of arms(0)) if ((await players[arm].answer()) === null) ended ??= arm;
	for (let round = 0; ended === null && !isTimedEnough(turns, job.limits, job.tolerance); round += 1) {
		for (const arm of arms(round)) {
			const turn = await players[arm].turn(job.limits.turnMs);
			if (turn === null) ended ??= arm;
			turns[arm].timedMs += turn?.timedMs ?? 0;
			turns[arm].fastestMs.push(turn?.fastestMs ?? 0);
		}
	}
	for (const player of [players.base, players.head]) player.end();
	return ended;
}

type Turn = ReturnType<typeof parseTurnLine>;

/** One of the two processes. An answer is null once it has ended. */
interface Player {
	talk(pipes: Pipes): void;
	/** Without a turn: that its warm-up is over. */
	answer(): Promise<Turn>;
	turn(ms: number): Promise<Turn>;
	/** It shall end. */
	end(): void;
	/** It has ended. */
	leave(): void;
}

function createPlayer(): Player {
	let input: Pipes["input"] | null = null;
	let hasLeft = false;
	let early: Turn = null;
	let settle: ((turn: Turn) => void) | null = null;
	const take = (turn: Turn): void => {
		if (settle === null) early = turn;
		settle?.(turn);
		settle = null;
	};
	const answer = (): Promise<Turn> =>
		new Promise((resolve) => {
			settle = resolve;
			if (early === null && !hasLeft) return;
			const turn = early;
			early = null;
			take(turn);
		});
	return {
		talk(pipes) {
			input = pipes.input;
			const cutter = cutLines((line) => {
				const turn = parseTurnLine(line);
				if (turn !== null) take(turn);
			});
			pipes.output.on("data", cutter.push);
		},
		answer,
		turn(ms) {
			input?.write(`${ms}\n`);
			return answer();
		},
		end: () => input?.end(),
		leave() {
			hasLeft = true;
			take(null);
		},
	};
}
