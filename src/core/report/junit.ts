// The gates as JUnit XML.
import type { GateResult, GateStatus, Result } from "../../../generated/result.ts";
import { cleanMessage, cleanName, escapeXml } from "../text/escape.ts";
import { gateTitle, subjectName } from "../text/labels.ts";
import { backendOf, gateLabel } from "./facts.ts";

function attributes(values: Readonly<Record<string, string | number>>) {
	return Object.entries(values)
		.map(([name, value]) => ` ${name}="${escapeXml(String(value))}"`)
		.join("");
}

function element(tag: string, message: string, type: string) {
	return `<${tag}${attributes({ message: cleanMessage(message, 1000), type })}/>`;
}

function testcase(classname: string, name: string, body: string) {
	const head = `\t\t<testcase${attributes({ classname, name })}`;
	return body === "" ? `${head}/>` : `${head}>${body}</testcase>`;
}

/** JUnit has no warning: the case passes with a message. Skipped is never shown as passed. */
const bodies: Readonly<Record<GateStatus, (gate: GateResult) => string>> = {
	pass: () => "",
	warn: ({ message }) => `<system-out>${escapeXml(`Warning: ${cleanMessage(message, 1000)}`)}</system-out>`,
	fail: ({ message, gate }) => element("failure", message, gate),
	inconclusive: ({ message, gate }) => element("skipped", `Inconclusive: ${message}`, gate),
	error: ({ message, gate }) => element("error", message, gate),
};

function gateCase(gate: GateResult, result: Result) {
	const place = [gate.engine, gate.workload, gate.case]
		.filter((part) => part !== undefined)
		.map((part) => cleanName(part));
	const part = gate.part === undefined ? "" : ` (${cleanName(gate.part, 60)})`;
	const name = [gateLabel(gate.gate, backendOf(result, gate)), ...place].join(" · ") + part;
	return testcase(cleanName(gate.model), name, bodies[gate.status](gate));
}

export function renderJunit(result: Result): string {
	const { gates, backend, startedAt, durationMs } = result;
	// A fault of GitHub never changes the outcome.
	const errors = result.errors.filter((error) => error.kind !== "github");
	const count = (status: GateStatus) => gates.filter((gate) => gate.status === status).length;
	// The format knows a file of the suite, not of a case.
	const [file, second] = new Set(gates.flatMap(({ location }) => location?.path ?? []));
	const suite = attributes({
		name: gateTitle(backend),
		tests: gates.length + errors.length,
		failures: count("fail"),
		errors: count("error") + errors.length,
		skipped: count("inconclusive"),
		timestamp: startedAt,
		time: (durationMs / 1000).toFixed(3),
		...(file === undefined || second !== undefined ? {} : { file }),
	});
	return [
		'<?xml version="1.0" encoding="UTF-8"?>',
		"<testsuites>",
		`\t<testsuite${suite}>`,
		...gates.map((gate) => gateCase(gate, result)),
		...errors.map((error) =>
			testcase("errors", subjectName(error) || "the run", element("error", error.message, error.code)),
		),
		"\t</testsuite>",
		"</testsuites>",
		"",
	].join("\n");
}
