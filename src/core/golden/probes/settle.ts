// Tells what is new from what the base does just so: the one place where the two arms' probes meet.
import type { ProbeName, ProbeResult } from "../../schema/result.ts";
import { toNumeric } from "../compare/checks.ts";
import type { JudgedProbe } from "./judge.ts";

/** As of errors that grew: kernels of another choice differ by less than twofold. */
const mostGrowth = 2;

export interface ProbePlace {
	model: string;
	engine: string;
}

/** @param base asked only where the head differs; null: there is no base, or it could not be asked. */
export function settleProbes(
	head: readonly JudgedProbe[],
	base: ReadonlyMap<ProbeName, JudgedProbe> | null,
	place: ProbePlace,
): ProbeResult[] {
	return head.map((own) => {
		const other = own.state === "differs" ? base?.get(own.probe) : undefined;
		const known = other !== undefined && isKnown(own, other);
		return {
			model: place.model,
			engine: place.engine,
			probe: own.probe,
			state: known ? "known" : own.state,
			got: own.got === null ? null : toNumeric(own.got),
			allowed: own.allowed,
			...(other === undefined || other.state === "skipped" ? {} : { base: other.got === null ? null : toNumeric(other.got) }),
			...(own.output === undefined ? {} : { output: own.output }),
			message: [own.message, ...besideBase(own, other, known)].join(" "),
		};
	});
}

/** What cannot be told as a number is as bad as can be, in both arms alike. */
function isKnown(head: JudgedProbe, base: JudgedProbe): boolean {
	if (base.state !== "differs") return false;
	const size = ({ got }: JudgedProbe): number => (got === null || Number.isNaN(got) ? Number.POSITIVE_INFINITY : got);
	return size(head) <= mostGrowth * size(base);
}

function besideBase(head: JudgedProbe, base: JudgedProbe | undefined, known: boolean): string[] {
	if (base === undefined || base.state === "skipped") return [];
	if (known) return ["So does the base."];
	if (base.state === "agrees") return ["The base's engine keeps to it."];
	return head.got === null ? [] : [`On the base it is ${base.got === null ? "no answer" : Number(base.got.toPrecision(2))}.`];
}
