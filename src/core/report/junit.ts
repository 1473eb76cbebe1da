// The gates as JUnit XML, for systems that show test reports: one testcase a gate.

import type { GateResult, GateStatus, Result } from "../../../generated/result.ts";
import { cleanName, escapeXml } from "../text/escape.ts";
import { gateTitle, subjectName } from "../text/labels.ts";
import { cleanMessage } from "./comparison-format.ts";
import { backendOf } from "./facts.ts";
import { gateLabel } from "./gate-labels.ts";

function attribute(name: string, value: string): string {
	return `${name}="${escapeXml(value)}"`;
}

function element(tag: string, gate: GateResult): string {
	return `<${tag} ${attribute("message", cleanMessage(gate.message, 1000))} ${attribute("type", gate.gate)}/>`;
}

/** JUnit has no warning: the case passes with a message. Inconclusive is skipped, which is never shown as passed. */
const bodies: Readonly<Record<GateStatus, (gate: GateResult) => string>> = {
	pass: () => "",
	warn: (gate) => `<system-out>${escapeXml(`Warning: ${cleanMessage(gate.message, 1000)}`)}</system-out>`,
	fail: (gate) => element("failure", gate),
	inconclusive: (gate) => element("skipped", { ...gate, message: `Inconclusive: ${gate.message}` }),
	error: (gate) => element("error", gate),
};

function testcase(gate: GateResult, result: Result): string {
	const place = [gate.engine, gate.workload, gate.case]
		.filter((part) => part !== undefined)
		.map((part) => cleanName(part));
	const part = gate.part === undefined ? "" : ` (${cleanName(gate.part, 60)})`;
	const name = [gateLabel(gate.gate, backendOf(result, gate)), ...place].join(" · ") + part;
	const head = `<testcase ${attribute("classname", cleanName(gate.model))} ${attribute("name", name)}`;
	const body = bodies[gate.status](gate);
	return body === "" ? `\t\t${head}/>` : `\t\t${head}>${body}</testcase>`;
}

function errorCase(error: Result["errors"][number]): string {
	const body = `<error ${attribute("message", cleanMessage(error.message, 1000))} ${attribute("type", error.code)}/>`;
	return `\t\t<testcase ${attribute("classname", "errors")} ${attribute("name", subjectName(error) || "the run")}>${body}</testcase>`;
}

/** Readers that check a schema take a file of the suite, not of a case: the one config, where all gates are one suite. */
function fileOf({ gates }: Result): string {
	const [path, second] = new Set(gates.flatMap(({ location }) => location?.path ?? []));
	return path === undefined || second !== undefined ? "" : ` ${attribute("file", path)}`;
}

export function renderJunit(result: Result): string {
	// What GitHub did wrong never changes the outcome, so it is no failed test either.
	const errors = result.errors.filter((error) => error.kind !== "github");
	const count = (status: GateStatus) => result.gates.filter((gate) => gate.status === status).length;
	const counts = [
		attribute("tests", String(result.gates.length + errors.length)),
		attribute("failures", String(count("fail"))),
		attribute("errors", String(count("error") + errors.length)),
		attribute("skipped", String(count("inconclusive"))),
	].join(" ");
	const suite = `${attribute("name", gateTitle(result.backend))} ${counts} ${attribute("timestamp", result.startedAt)} time="${(result.durationMs / 1000).toFixed(3)}"${fileOf(result)}`;
	const cases = [...result.gates.map((gate) => testcase(gate, result)), ...errors.map(errorCase)];
	return [
		'<?xml version="1.0" encoding="UTF-8"?>',
		"<testsuites>",
		`\t<testsuite ${suite}>`,
		...cases,
		"\t</testsuite>",
		"</testsuites>",
		"",
	].join("\n");
}
